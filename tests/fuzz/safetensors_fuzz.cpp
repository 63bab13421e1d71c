// Fuzzes the safetensors reader: any bytes are either refused with FileError or fully consistent.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/io/safetensors.h"
#include "dynet_like/io/safetensors_header.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

// What was accepted is written, with checksums, and read again as the same; with another bit it is
// refused.
void check_again(const dynet_like::SafetensorsFile& file) {
  std::vector<const dynet_like::TensorEntry*> entries;
  for (const dynet_like::TensorEntry& entry : file.entries()) entries.push_back(&entry);
  const std::string header = dynet_like::safetensors::header_text(entries, file.metadata());
  std::vector<std::byte> bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(header.size() >> (8 * i)));
  const auto text = std::as_bytes(std::span(header));
  bytes.insert(bytes.end(), text.begin(), text.end());
  for (const auto* entry : entries) {
    bytes.insert(bytes.end(), entry->bytes.begin(), entry->bytes.end());
  }
  const auto again = dynet_like::SafetensorsFile::parse(bytes, "again");
  require(again.metadata() == file.metadata() && again.entries().size() == entries.size());
  for (const auto* entry : entries) {
    const dynet_like::TensorEntry* found = again.find(entry->name);
    require(found != nullptr && found->dtype == entry->dtype && found->shape == entry->shape);
    require(std::equal(entry->bytes.begin(), entry->bytes.end(), found->bytes.begin(),
                       found->bytes.end()));
  }
  bytes.back() ^= std::byte{1};
  try {
    dynet_like::SafetensorsFile::parse(bytes, "damaged");
    std::abort();
  } catch (const dynet_like::FileError&) {
  }
}

void try_parse(std::vector<std::byte> bytes) {
  const std::size_t size = bytes.size();
  try {
    const auto file = dynet_like::SafetensorsFile::parse(std::move(bytes), "fuzz");
    std::size_t sum = 0;
    for (const dynet_like::TensorEntry& entry : file.entries()) {
      require(file.find(entry.name) == &entry);
      require(dynet_like::safetensors::byte_count(entry) == entry.bytes.size());
      for (const std::byte byte : entry.bytes) sum += std::to_integer<std::size_t>(byte);
    }
    require(sum <= size * 255);
    check_again(file);
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
