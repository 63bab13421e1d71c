// A program of a user: it draws random numbers, saves them and reads them back.
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/core/random.h"
#include "dynet_like/io/safetensors.h"

int main(int, char** arguments) {
  dynet_like::Random random(1);
  std::vector<float> values(10);
  for (float& value : values) value = static_cast<float>(random.uniform());
  const std::vector<dynet_like::TensorEntry> entries = {
      {"values", "F32", {values.size()}, std::as_bytes(std::span(values))}};
  const std::string path = std::string(arguments[0]) + ".safetensors";
  dynet_like::write_safetensors(path, entries, {{"format", "consumer"}});
  const auto file = dynet_like::SafetensorsFile::read(path);
  std::printf("%zu bytes\n", file.find("values")->bytes.size());
  return file.find("values")->bytes.size() == 40 ? 0 : 1;
}
