// Fuzzes the JSON files of encoders: a config.json up to a zero byte, and an index of shards.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dynet_like/core/errors.h"
#include "nn/encoders/encoder_config.h"
#include "nn/encoders/family.h"
#include "nn/encoders/shards.h"

namespace {

using namespace dynet_like;

void require(bool holds) {
  if (!holds) std::abort();
}

// What was accepted is consistent, and is written as text that reads as the same.
void check(const nn::EncoderConfig& config) {
  config.check();
  const std::string text = config.to_text();
  require(nn::EncoderConfig::from_text(text).to_text() == text);
  const nn::encoders::Family* const family = nn::encoders::find_family(config.model_type);
  require(family != nullptr && nn::encoders::find_activation(config.activation) != nullptr);
  require(nn::encoders::tensors_of(*family, config).size() >= config.layers);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\0');
  try {
    check(nn::EncoderConfig::from_text(input.substr(0, end), "fuzz"));
  } catch (const FileError&) {
    // Refusing is right; anything else that is thrown is a finding.
  }
  try {
    for (const std::string& name :
         nn::encoders::shard_names(end == input.npos ? input : input.substr(end + 1), "fuzz")) {
      require(name.find('/') == name.npos && name.find('\\') == name.npos);
      require(!name.starts_with('.') && name.ends_with(".safetensors"));
    }
  } catch (const FileError&) {
  }
  return 0;
}
