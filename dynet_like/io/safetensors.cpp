// Safetensors files: an 8-byte length, the header, then the data.
#include "dynet_like/io/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/io/atomic_file.h"
#include "dynet_like/io/input_file.h"
#include "dynet_like/io/safetensors_header.h"

namespace dynet_like {

using namespace detail;

namespace {

static_assert(std::endian::native == std::endian::little, "tensor bytes are stored as they are");

using safetensors::fail;
using safetensors::Header;

constexpr std::size_t kPrefix = 8;  // the header's length, little-endian

std::uint64_t header_length(std::span<const std::byte> start, std::uint64_t file_size,
                            const std::string& file) {
  if (file_size < kPrefix) {
    fail(file, fmt::format("at least {}", counted(kPrefix, "byte")), fmt::to_string(file_size));
  }
  std::uint64_t length = 0;
  for (std::size_t i = kPrefix; i-- > 0;) {
    length = length << 8 | std::to_integer<std::uint64_t>(start[i]);
  }
  if (length > safetensors::kHeaderLimit) {
    const std::string_view text(reinterpret_cast<const char*>(start.data()), kPrefix);
    fail(file,
         fmt::format("a safetensors file, which begins with the length of its header, at most {}",
                     safetensors::kHeaderLimit),
         safetensors::shown(text) +
             ", which looks like another format: load_text_model reads those of DyNet, load_npz "
             "those of numpy");
  }
  if (const std::uint64_t limit = file_size - kPrefix; length > limit) {
    fail(file,
         fmt::format("a header of at most {} in a file of {}", counted(limit, "byte"), file_size),
         fmt::to_string(length));
  }
  return length;
}

std::array<std::byte, kPrefix> prefix_of(const std::string& header) {
  std::array<std::byte, kPrefix> prefix;
  for (std::size_t i = 0; i < kPrefix; ++i) {
    prefix[i] = static_cast<std::byte>(header.size() >> (8 * i));
  }
  return prefix;
}

std::vector<const TensorEntry*> by_alignment(std::span<const TensorEntry> entries) {
  std::vector<const TensorEntry*> order;
  std::set<std::string_view> names;
  for (const TensorEntry& entry : entries) {
    if (!names.insert(entry.name).second) {
      throw UsageError("[save] need unique names; got " + safetensors::shown(entry.name) +
                       " twice");
    }
    order.push_back(&entry);
  }
  std::stable_sort(order.begin(), order.end(), [](const TensorEntry* a, const TensorEntry* b) {
    return safetensors_item_size(a->dtype) > safetensors_item_size(b->dtype);
  });
  return order;
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::string name, std::shared_ptr<const void> memory,
                                 std::span<const std::byte> data, Header header)
    : TensorEntries(std::move(name)), metadata_(std::move(header.metadata)) {
  storage_.push_back(std::move(memory));
  entries_ = std::move(header.entries);
  index_ = std::move(header.index);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::size_t end = i + 1 < entries_.size() ? header.begins[i + 1] : data.size();
    entries_[i].bytes = data.subspan(header.begins[i], end - header.begins[i]);
  }
}

SafetensorsFile SafetensorsFile::read(const std::filesystem::path& path) {
  const std::string name = path.string();
  InputFile input(path, "safetensors");
  const std::uint64_t size = input.size();
  std::array<std::byte, kPrefix> prefix = {};
  if (size >= kPrefix) input.read(prefix);
  std::string text(header_length(prefix, size, name), ' ');
  input.read(std::as_writable_bytes(std::span(text)));
  const std::uint64_t data_size = size - kPrefix - text.size();
  Header header = safetensors::parse_header(text, data_size, name);
  // Not mapped: a process that shortens the file could end ours.
  const auto memory = std::make_shared<const Block>(input.read(data_size));
  const std::span<const std::byte> data(memory->data(), memory->size());
  safetensors::check_data(header, data, name);
  return {name, memory, data, std::move(header)};
}

SafetensorsFile SafetensorsFile::parse(std::vector<std::byte> bytes, const std::string& name) {
  const std::uint64_t length = header_length(bytes, bytes.size(), name);
  const std::size_t data_begin = kPrefix + length;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kPrefix, length);
  Header header = safetensors::parse_header(text, bytes.size() - data_begin, name);
  const auto memory = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const auto data = std::span(*memory).subspan(data_begin);
  safetensors::check_data(header, data, name);
  return {name, memory, data, std::move(header)};
}

void write_safetensors(const std::filesystem::path& path, std::span<const TensorEntry> entries,
                       const std::map<std::string, std::string>& metadata) {
  const std::vector<const TensorEntry*> order = by_alignment(entries);
  const std::string header = safetensors::header_text(order, metadata);
  AtomicFile file(path);
  file.write(prefix_of(header));
  file.write(std::as_bytes(std::span(header)));
  for (const TensorEntry* entry : order) file.write(entry->bytes);
  file.commit();
}

}  // namespace dynet_like
