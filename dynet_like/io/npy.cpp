// Reads numpy's headers: a small part of Python's grammar, dictionaries of strings, booleans and
// tuples of integers.
#include "dynet_like/io/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/io/safetensors_header.h"

namespace dynet_like::detail::npy {

namespace {

/// The names of types in numpy and in safetensors. A single byte has no byte order, hence "|".
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kTypes = {{
    {"<f4", "F32"},
    {"<f8", "F64"},
    {"<f2", "F16"},
    {"<i8", "I64"},
    {"<i4", "I32"},
    {"<i2", "I16"},
    {"|i1", "I8"},
    {"<u8", "U64"},
    {"<u4", "U32"},
    {"<u2", "U16"},
    {"|u1", "U8"},
    {"|b1", "BOOL"},
}};

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file, const std::string& array)
      : text_(text), file_(file), array_(array) {}

  Header parse() {
    bool has_type = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      bool* const has = key == "descr"           ? &has_type
                        : key == "fortran_order" ? &has_order
                        : key == "shape"         ? &has_shape
                                                 : nullptr;
      if (has == nullptr || *has) fail("the keys descr, fortran_order and shape once", key);
      *has = true;
      if (key == "descr") read_type();
      if (key == "fortran_order") header_.column_major = truth();
      if (key == "shape") read_shape();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!text_.empty()) fail("nothing behind the dictionary", text_);
    if (!has_type || !has_order || !has_shape) {
      fail("the keys descr, fortran_order and shape", "fewer");
    }
    return std::move(header_);
  }

  [[noreturn]] void fail(const std::string& need, std::string_view got) const {
    throw FileError(file_, fmt::format("[npz] need {} in the header of {}; got {}", need,
                                       quoted_text(array_), quoted_text(got)));
  }

 private:
  void skip_blanks() {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \n"), text_.size()));
  }
  bool accept(char c) {
    skip_blanks();
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("\"{}\"", c), text_);
  }

  std::string_view quoted() {
    skip_blanks();
    const char quote = text_.empty() ? ' ' : text_[0];
    const std::size_t end = text_.find(quote, 1);
    if ((quote != '\'' && quote != '"') || end == text_.npos) fail("text in quotes", text_);
    const std::string_view result = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return result;
  }

  bool truth() {
    skip_blanks();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    fail("True or False", text_);
  }

  void read_type() {
    skip_blanks();
    if (text_.starts_with('[')) fail("an array without named fields", text_);
    const std::string_view type = quoted();
    header_.dtype = type;
    for (const auto& [numpy, name] : kTypes) {
      if (type == numpy) header_.dtype = name;
    }
    if (type.empty() || safetensors_item_size(type) > 0)
      fail("a type such as '<f4' or '<f8'", type);
    const std::optional<TextType> text = text_type(type);
    header_.item_bytes = text ? text->bytes : safetensors_item_size(header_.dtype);
  }

  void read_shape() {
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      std::uint64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc{}) fail("whole numbers below 2^64 as shape", text_);
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      if (header_.shape.size() == safetensors::kRankLimit) {
        fail(fmt::format("at most {}", counted(safetensors::kRankLimit, "dimension")), text_);
      }
      header_.shape.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view text_;
  const std::string& file_;
  const std::string& array_;
  Header header_;
};

// Whether an array of this shape has so many bytes.
bool is_shape_of(std::span<const std::uint64_t> shape, std::uint64_t item_bytes,
                 std::uint64_t bytes) {
  std::uint64_t count = item_bytes;
  for (const std::uint64_t size : shape) {
    if (size != 0 && count > std::numeric_limits<std::uint64_t>::max() / size) return false;
    count *= size;
  }
  return count == bytes;
}

}  // namespace

std::optional<TextType> text_type(std::string_view dtype) {
  const bool is_unicode = dtype.starts_with("<U");
  if (!is_unicode && !dtype.starts_with("|S")) return std::nullopt;
  std::uint32_t length = 0;
  const char* const end = dtype.data() + dtype.size();
  const auto [stop, error] = std::from_chars(dtype.data() + 2, end, length);
  if (error != std::errc{} || stop != end || length == 0) return std::nullopt;
  return TextType{length * (is_unicode ? std::size_t{4} : 1), is_unicode};
}

Header parse_header(std::span<const std::byte> bytes, const std::string& file,
                    const std::string& array) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const HeaderParser messages("", file, array);
  constexpr std::size_t kVersionEnd = 8;
  if (!text.starts_with(kMagic) || text.size() < kVersionEnd) {
    messages.fail("numpy's magic bytes and a version", text.substr(0, kVersionEnd));
  }
  const unsigned version = byte(6), length_bytes = version == 1 ? 2 : 4;
  if (version < 1 || version > 3) messages.fail("version 1, 2 or 3", std::to_string(version));
  const std::size_t begin = kVersionEnd + length_bytes;
  std::size_t length = 0;
  for (std::size_t i = begin; i-- > kVersionEnd && text.size() >= begin;) {
    length = length << 8 | byte(i);
  }
  if (text.size() < begin || length > text.size() - begin) {
    messages.fail("all that its length says", "the end");
  }
  Header header = HeaderParser(text.substr(begin, length), file, array).parse();
  header.data_begin = begin + length;
  const std::size_t size = text.size() - header.data_begin;
  if (header.item_bytes > 0 && !is_shape_of(header.shape, header.item_bytes, size)) {
    messages.fail(fmt::format("a shape that is one of {}", counted(size, "byte")),
                  fmt::format("{} of ({})", header.dtype, fmt::join(header.shape, ", ")));
  }
  return header;
}

std::string header_text(const TensorEntry& entry) {
  const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                 [&](const auto& pair) { return pair.second == entry.dtype; });
  if (type == kTypes.end()) {
    throw UsageError(fmt::format("[npz] need a type that numpy has for {}; got {}",
                                 quoted_text(entry.name), quoted_text(entry.dtype)));
  }
  if (safetensors::byte_count(entry) != entry.bytes.size() ||
      entry.shape.size() > safetensors::kRankLimit) {
    throw UsageError(fmt::format(
        "[npz] need the bytes of {} ({}), of at most {}, for "
        "{}; got {}",
        entry.dtype, fmt::join(entry.shape, ", "), counted(safetensors::kRankLimit, "dimension"),
        quoted_text(entry.name), entry.bytes.size()));
  }
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type->first,
                  fmt::join(entry.shape, ", "), entry.shape.size() == 1 ? "," : "");
  // 32 dimensions of 20 digits are less than the 65,535 bytes of version 1.
  constexpr std::size_t kStart = 10, kAlignment = 64;
  const std::size_t end = (kStart + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  header.resize(end - kStart - 1, ' ');
  header += '\n';
  std::string start(kMagic);
  start += {'\1', '\0', static_cast<char>(header.size()), static_cast<char>(header.size() >> 8)};
  return start + header;
}

}  // namespace dynet_like::detail::npy
