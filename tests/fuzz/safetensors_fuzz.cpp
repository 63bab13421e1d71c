// Fuzzes the safetensors reader: any bytes are either refused with FileError or fully consistent.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/io/safetensors.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void try_parse(std::vector<std::byte> bytes) {
  const std::size_t size = bytes.size();
  try {
    const auto file = dynet_like::SafetensorsFile::parse(std::move(bytes), "fuzz");
    std::size_t sum = 0;
    for (const dynet_like::TensorEntry& entry : file.entries()) {
      require(file.find(entry.name) == &entry);
      std::size_t count = dynet_like::safetensors_item_size(entry.dtype);
      for (const std::uint64_t length : entry.shape) count *= length;
      require(count == entry.bytes.size());
      for (const std::byte byte : entry.bytes) sum += std::to_integer<std::size_t>(byte);
    }
    require(sum <= size * 255);
  } catch (const dynet_like::FileError&) {
    // Refusing is right; anything else that is thrown is a finding.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  try_parse({bytes, bytes + size});
  // A second time with the right length in front, which the fuzzer would seldom guess: the header
  // ends at the first zero byte.
  const auto header = static_cast<std::size_t>(std::find(data, data + size, 0) - data);
  std::vector<std::byte> whole;
  for (int i = 0; i < 8; ++i) whole.push_back(static_cast<std::byte>(header >> (8 * i)));
  whole.insert(whole.end(), bytes, bytes + header);
  if (header < size) whole.insert(whole.end(), bytes + header + 1, bytes + size);
  try_parse(std::move(whole));
  return 0;
}
