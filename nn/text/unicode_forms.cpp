// Normal forms by the decompositions, classes and pairs of utf8proc.
#include "nn/text/unicode_forms.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <utf8proc.h>

namespace dynet_like::nn::text {

namespace {

/// A character while a text is changed. It stands for 1 - `change` characters of the old text.
struct Part {
  char32_t code = 0;
  int change = 0;
  int order = 0;  // the canonical combining class; 0 for characters that keep their place
};

int order_of(char32_t code) {
  return code < 0x300 ? 0
                      : utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->combining_class;
}

void sort_marks(std::vector<Part>& parts, std::size_t begin) {
  const auto comes_before = [](const Part& a, const Part& b) { return a.order < b.order; };
  std::stable_sort(parts.begin() + static_cast<std::ptrdiff_t>(begin), parts.end(), comes_before);
}

std::vector<Part> decomposed(std::string_view text, bool is_compatible) {
  constexpr std::size_t kMostParts = 32;  // U+FDFA becomes 18
  const int options = UTF8PROC_DECOMPOSE | (is_compatible ? UTF8PROC_COMPAT : 0);
  std::vector<Part> parts;
  parts.reserve(text.size() + text.size() / 4);
  std::size_t marks = 0;  // where the marks behind the last character of order 0 begin
  for (std::size_t at = 0; at < text.size(); at += character_bytes(text[at])) {
    std::array<utf8proc_int32_t, kMostParts> codes{};
    utf8proc_ssize_t count = 1;
    codes[0] = static_cast<utf8proc_int32_t>(character_at(text, at));
    if (codes[0] >= 0x80) {
      count = utf8proc_decompose_char(codes[0], codes.data(), kMostParts,
                                      static_cast<utf8proc_option_t>(options), nullptr);
    }
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      const auto code = static_cast<char32_t>(codes[static_cast<std::size_t>(i)]);
      const int order = order_of(code);
      if (order == 0 && parts.size() > marks + 1) sort_marks(parts, marks);
      parts.push_back({code, i == 0 ? 0 : 1, order});
      if (order == 0) marks = parts.size();
    }
  }
  sort_marks(parts, marks);
  return parts;
}

std::optional<char32_t> composed(char32_t first, const Part& second) {
  // Only marks, and vowels and ends of Korean syllables, are joined to the character before.
  const bool is_korean = second.code >= 0x1161 && second.code <= 0x11C2;
  if (second.code < 0x300 || (second.order == 0 && !is_korean && !is_mark(second.code))) {
    return std::nullopt;
  }
  std::array<utf8proc_int32_t, 2> codes = {static_cast<utf8proc_int32_t>(first),
                                           static_cast<utf8proc_int32_t>(second.code)};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  if (utf8proc_normalize_utf32(codes.data(), codes.size(), options) != 1) return std::nullopt;
  return static_cast<char32_t>(codes[0]);
}

// Joins each mark to the last character of order 0, unless another mark of the same order, or of a
// later one, is between them.
void compose(std::vector<Part>& parts) {
  std::size_t size = 0;
  std::optional<std::size_t> base;
  int last_order = -1;  // of the marks between; -1 if there are none
  for (const Part& part : parts) {
    if (base && last_order < part.order) {
      if (const std::optional<char32_t> code = composed(parts[*base].code, part)) {
        parts[*base].code = *code;
        parts[*base].change += part.change - 1;
        continue;
      }
    }
    if (part.order == 0) base = size;
    last_order = part.order == 0 ? -1 : part.order;
    parts[size++] = part;
  }
  parts.resize(size);
}

}  // namespace

void bring_into(UnicodeForm form, AlignedText& aligned) {
  const bool composes = form == UnicodeForm::nfc || form == UnicodeForm::nfkc;
  const auto may_change = [](char c) { return static_cast<unsigned char>(c) >= 0xCC; };
  if (form == UnicodeForm::nfc ? std::none_of(aligned.text.begin(), aligned.text.end(), may_change)
                               : is_ascii(aligned.text)) {
    return;  // NFC leaves characters before U+0300 as they are
  }
  std::vector<Part> parts =
      decomposed(aligned.text, form == UnicodeForm::nfkc || form == UnicodeForm::nfkd);
  if (composes) compose(parts);
  std::vector<Replacement> characters(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [code, change, order] = parts[i];
    characters[i] = {code, change > 0, static_cast<std::uint32_t>(std::max(-change, 0))};
  }
  replace(aligned, characters);
}

}  // namespace dynet_like::nn::text
