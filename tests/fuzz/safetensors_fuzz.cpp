// Fuzzes the safetensors reader: any bytes are either refused with FileError or fully consistent.
#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dynet_like/io/safetensors.h"
#include "dynet_like/io/safetensors_header.h"
#include "tests/fuzz/fuzz.h"

namespace dynet_like::fuzz {

namespace {

// What was accepted is written, with checksums, and read again as the same; with another bit it is
// refused.
void check_again(const SafetensorsFile& file) {
  std::vector<const TensorEntry*> entries;
  for (const TensorEntry& entry : file.entries()) entries.push_back(&entry);
  const std::string header = safetensors::header_text(entries, file.metadata());
  std::vector<std::byte> bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(header.size() >> (8 * i)));
  const auto text = std::as_bytes(std::span(header));
  bytes.insert(bytes.end(), text.begin(), text.end());
  for (const auto* entry : entries) {
    bytes.insert(bytes.end(), entry->bytes.begin(), entry->bytes.end());
  }
  const auto again = SafetensorsFile::parse(bytes, "again");
  require(again.metadata() == file.metadata() && again.entries().size() == entries.size());
  for (const auto* entry : entries) {
    const TensorEntry* found = again.find(entry->name);
    require(found != nullptr && found->dtype == entry->dtype && found->shape == entry->shape);
    require(std::equal(entry->bytes.begin(), entry->bytes.end(), found->bytes.begin(),
                       found->bytes.end()));
  }
  bytes.back() ^= std::byte{1};
  try {
    SafetensorsFile::parse(bytes, "damaged");
    std::abort();
  } catch (const FileError&) {
  }
}

void try_parse(std::vector<std::byte> bytes) {
  const std::size_t size = bytes.size();
  may_refuse([&] {
    const auto file = SafetensorsFile::parse(std::move(bytes), "fuzz");
    std::size_t sum = 0;
    for (const TensorEntry& entry : file.entries()) {
      require(file.find(entry.name) == &entry);
      require(safetensors::byte_count(entry) == entry.bytes.size());
      for (const std::byte byte : entry.bytes) sum += std::to_integer<std::size_t>(byte);
    }
    require(sum <= size * 255);
    check_again(file);
  });
}

}  // namespace

void run(const std::string& input) {
  const auto bytes = std::as_bytes(std::span(input));
  try_parse({bytes.begin(), bytes.end()});
  // A second time with the right length in front, which the fuzzer would seldom guess: the header
  // ends at the first zero byte.
  const std::size_t header = std::min(input.find('\0'), input.size());
  std::vector<std::byte> whole;
  for (int i = 0; i < 8; ++i) whole.push_back(static_cast<std::byte>(header >> (8 * i)));
  const auto data = bytes.subspan(std::min(header + 1, input.size()));
  whole.insert(whole.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header));
  whole.insert(whole.end(), data.begin(), data.end());
  try_parse(std::move(whole));
}

}  // namespace dynet_like::fuzz
