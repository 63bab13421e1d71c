// Fuzzes the reader of numpy's files: any bytes are refused with FileError or fully consistent.
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dynet_like/io/npy.h"
#include "dynet_like/io/npz.h"
#include "dynet_like/io/safetensors.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/zip_archive.h"

namespace dynet_like::fuzz {

namespace {

constexpr std::uint64_t kMaxInflatedBytes = 1 << 20;

void try_parse(std::vector<std::byte> bytes) {
  const std::size_t size = bytes.size();
  may_refuse([&] {
    const auto file = NumpyFile::parse(std::move(bytes), "fuzz", kMaxInflatedBytes);
    std::size_t total = 0, sum = 0;
    for (const TensorEntry& entry : file.entries()) {
      require(file.find(entry.name) == &entry);
      const auto text = detail::npy::text_type(entry.dtype);
      std::size_t count = text ? text->bytes : safetensors_item_size(entry.dtype);
      for (const std::uint64_t length : entry.shape) count *= length;
      require(count == entry.bytes.size() || count == 0);
      if (text) require(file.texts(entry.name).size() * text->bytes == count);
      for (const std::byte byte : entry.bytes) sum += std::to_integer<std::size_t>(byte);
      total += entry.bytes.size();
    }
    require(total <= size + kMaxInflatedBytes && sum <= 255 * total);
  });
}

}  // namespace

void run(const std::string& input) {
  const auto bytes = std::as_bytes(std::span(input));
  try_parse({bytes.begin(), bytes.end()});
  try_parse(archive_of({{.name = "a.npy", .bytes = input}}));  // with its checksum
}

}  // namespace dynet_like::fuzz
