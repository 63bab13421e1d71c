// Fuzzes the reader of numpy's files: any bytes are refused with FileError or fully consistent.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/io/npy.h"
#include "dynet_like/io/npz.h"
#include "dynet_like/io/safetensors.h"
#include "tests/fuzz/archive.h"

namespace {

using namespace dynet_like::fuzz;

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  const Bytes bytes(begin, begin + size);
  try_parse(bytes);
  try_parse(archive_of({{"a.npy", bytes}}));
  return 0;
}
