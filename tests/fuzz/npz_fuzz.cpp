// Fuzzes the reader of numpy's files: any bytes are refused with FileError or fully consistent.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/io/checksum.h"
#include "dynet_like/io/npy.h"
#include "dynet_like/io/npz.h"
#include "dynet_like/io/safetensors.h"

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kMaxInflatedBytes = 1 << 20;

void require(bool condition) {
  if (!condition) std::abort();
}

void try_parse(Bytes bytes) {
  const std::size_t size = bytes.size();
  try {
    const auto file = dynet_like::NumpyFile::parse(std::move(bytes), "fuzz", kMaxInflatedBytes);
    std::size_t total = 0, sum = 0;
    for (const dynet_like::TensorEntry& entry : file.entries()) {
      require(file.find(entry.name) == &entry);
      const auto text = dynet_like::detail::npy::text_type(entry.dtype);
      std::size_t count = dynet_like::safetensors_item_size(entry.dtype);
      if (text) count = text->bytes;
      for (const std::uint64_t length : entry.shape) count *= length;
      require(count == entry.bytes.size() || count == 0);
      if (text) require(file.texts(entry.name).size() * text->bytes == count);
      for (const std::byte byte : entry.bytes) sum += std::to_integer<std::size_t>(byte);
      total += entry.bytes.size();
    }
    require(total <= size + kMaxInflatedBytes && sum <= 255 * total);
  } catch (const dynet_like::FileError& error) {
    require(error.file() == "fuzz");
  }
}

/// An archive with these bytes as its member "a.npy", which has the right checksum: the fuzzer
/// would seldom guess that.
Bytes archive_of(const Bytes& bytes) {
  const auto number = [](std::uint64_t value, std::size_t count) {
    std::string text;
    for (; count > 0; --count, value >>= 8) text += static_cast<char>(value);
    return text;
  };
  const std::string name = "a.npy", size = number(bytes.size(), 4),
                    common = number(0, 8) + number(dynet_like::detail::checksum(bytes), 4) + size +
                             size + number(name.size(), 2),
                    local = "PK\3\4" + number(20, 2) + common + number(0, 2) + name,
                    entry =
                        "PK\1\2" + number(20, 2) + number(20, 2) + common + number(0, 16) + name,
                    end = "PK\5\6" + number(0, 4) + number(1, 2) + number(1, 2) +
                          number(entry.size(), 4) + number(local.size() + bytes.size(), 4) +
                          number(0, 2);
  Bytes result;
  const auto append = [&](std::span<const std::byte> part) {
    result.insert(result.end(), part.begin(), part.end());
  };
  append(std::as_bytes(std::span(local)));
  append(bytes);
  const std::string rest = entry + end;
  append(std::as_bytes(std::span(rest)));
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  const Bytes bytes(begin, begin + size);
  try_parse(bytes);
  try_parse(archive_of(bytes));
  return 0;
}
