// .npz files, which are zip archives of .npy files.
#include "dynet_like/io/npz.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/nearest_names.h"
#include "dynet_like/core/text.h"
#include "dynet_like/io/atomic_file.h"
#include "dynet_like/io/input_file.h"
#include "dynet_like/io/npy.h"
#include "dynet_like/io/row_major.h"
#include "dynet_like/io/safetensors.h"
#include "dynet_like/io/zip.h"

namespace dynet_like {

using namespace detail;

namespace {

constexpr std::string_view kEnding = ".npy";
constexpr std::size_t kNameLimit = 65535 - kEnding.size();

/// Whether these first bytes are those of an .npy file. Throws if they are not those of an .npz
/// file, either.
bool is_npy(std::span<const std::byte> start, const std::string& file) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (text.starts_with(npy::kMagic)) return true;
  if (text.starts_with("PK")) return false;
  throw FileError(file, "[npz] need a file of numpy, .npz or .npy; got one that begins with " +
                            quoted_text(text.substr(0, npy::kMagic.size())));
}

void check_names(std::span<const TensorEntry> entries) {
  std::set<std::string_view> names;
  for (const TensorEntry& entry : entries) {
    const bool good = !entry.name.empty() && entry.name.size() <= kNameLimit &&
                      entry.name.find('\0') == std::string::npos;
    if (!good || !names.insert(entry.name).second) {
      throw UsageError(
          fmt::format("[npz] need unique names of 1 to {}, none of them 0; got "
                      "{}{}",
                      counted(kNameLimit, "byte"), quoted_text(entry.name), good ? " twice" : ""));
    }
  }
}

/// Converts 32-bit code points to UTF-8 (RFC 3629); invalid ones become U+FFFD.
std::string utf8_of(std::string_view text) {
  std::string result;
  for (; !text.empty(); text.remove_prefix(sizeof(std::uint32_t))) {
    std::uint32_t code = 0;
    std::memcpy(&code, text.data(), sizeof(code));
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) code = 0xFFFD;
    const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr std::uint32_t kFirst[] = {0, 0xC0, 0xE0, 0xF0};
    result += static_cast<char>(kFirst[more] | code >> (6 * more));
    for (int i = more; i-- > 0;) result += static_cast<char>(0x80 | (code >> (6 * i) & 0x3F));
  }
  return result;
}

}  // namespace

NumpyFile NumpyFile::read(const std::filesystem::path& path, std::uint64_t max_inflated_bytes) {
  InputFile input(path, "npz");
  const std::uint64_t size = input.size();
  // The first bytes alone, since another kind of file may be large.
  std::vector<std::byte> bytes(std::min<std::uint64_t>(size, npy::kMagic.size()));
  input.read(bytes);
  NumpyFile file(path.string());
  if (is_npy(bytes, file.name())) {
    const detail::Block rest = input.read(size - bytes.size());
    bytes.insert(bytes.end(), rest.data(), rest.data() + rest.size());
    file.add("", std::move(bytes));
  } else {
    file.add(zip::read(path, max_inflated_bytes));
  }
  return file;
}

NumpyFile NumpyFile::parse(std::vector<std::byte> bytes, const std::string& name,
                           std::uint64_t max_inflated_bytes) {
  NumpyFile file(name);
  if (is_npy(bytes, name)) {
    file.add("", std::move(bytes));
  } else {
    file.add(zip::parse(bytes, name, max_inflated_bytes));
  }
  return file;
}

void NumpyFile::add(std::vector<zip::Member> members) {
  for (zip::Member& member : members) {
    if (!member.name.ends_with(kEnding)) {
      throw FileError(name(), "[npz] need arrays, whose names end in \".npy\"; got " +
                                  quoted_text(member.name));
    }
    add(member.name.substr(0, member.name.size() - kEnding.size()), std::move(member.bytes));
  }
}

void NumpyFile::add(const std::string& name, std::vector<std::byte> file) {
  npy::Header header = npy::parse_header(file, this->name(), name);
  std::span<const std::byte> bytes = std::span(file).subspan(header.data_begin);
  if (header.column_major && header.shape.size() > 1 && header.item_bytes > 0) {
    std::vector<std::byte> copy(bytes.size());
    reorder(header.shape, header.item_bytes, bytes.data(), copy.data(), ElementOrder::row_major);
    file = std::move(copy);
    bytes = file;
  }
  // The bytes stay where they are.
  storage_.push_back(std::make_shared<const std::vector<std::byte>>(std::move(file)));
  index_.emplace(name, entries_.size());
  entries_.push_back({name, std::move(header.dtype), std::move(header.shape), bytes});
}

std::vector<std::string> NumpyFile::texts(const std::string& name) const {
  const TensorEntry* const entry = find(name);
  const auto type = entry == nullptr ? std::nullopt : npy::text_type(entry->dtype);
  if (!type) {
    throw FileError(this->name(),
                    fmt::format("[npz] need an array of texts named {}; got {}", quoted_text(name),
                                entry == nullptr ? "none" + nearest_keys_text(name, index_)
                                                 : "one of " + quoted_text(entry->dtype)));
  }
  std::vector<std::string> texts;
  for (auto bytes = entry->bytes; !bytes.empty(); bytes = bytes.subspan(type->bytes)) {
    std::string& text =
        texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), type->bytes);
    if (type->is_unicode) text = utf8_of(text);
    text.resize(text.find_last_not_of('\0') + 1);
  }
  return texts;
}

void write_npz(const std::filesystem::path& path, std::span<const TensorEntry> entries) {
  check_names(entries);
  std::vector<std::string> headers;
  for (const TensorEntry& entry : entries) headers.push_back(npy::header_text(entry));
  std::vector<zip::Parts> members;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    members.push_back({entries[i].name + std::string(kEnding),
                       {std::as_bytes(std::span(headers[i])), entries[i].bytes}});
  }
  zip::write(path, members);
}

void write_npy(const std::filesystem::path& path, const TensorEntry& entry) {
  const std::string header = npy::header_text(entry);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(header)));
  file.write(entry.bytes);
  file.commit();
}

}  // namespace dynet_like
