// Looks groups of characters up in the trie. It may be hostile, so every step is checked.
#include "nn/text/charsmap.h"

#include <algorithm>

#include <utf8proc.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet_like::nn::text {

namespace {

constexpr std::size_t kUnitBytes = 4;
constexpr std::size_t kMostGroupBytes = 5;

std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  while (text.ends_with('=')) text.remove_suffix(1);
  std::uint32_t bits = 0, count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) {
      throw UsageError("a charsmap needs base64; got " + detail::quoted_text({&c, 1}));
    }
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  return bytes;
}

std::uint32_t unit_at(std::string_view bytes, std::size_t i) {
  std::uint32_t unit = 0;
  for (std::size_t k = kUnitBytes; k-- > 0;) {
    unit = unit << 8 | static_cast<unsigned char>(bytes[i * kUnitBytes + k]);
  }
  return unit;
}

// The fields of a unit: the label of its edge, the place of its children, and its value.
std::uint32_t label_of(std::uint32_t unit) { return unit & (1u << 31 | 0xFF); }
std::uint32_t offset_of(std::uint32_t unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); }
bool has_value(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
std::uint32_t value_of(std::uint32_t unit) { return unit & ~(1u << 31); }

/// The end of the group of characters that begins at a byte: they are shown as one.
std::size_t end_of_group(std::string_view text, std::size_t begin) {
  utf8proc_int32_t state = 0;
  std::size_t at = begin;
  while (true) {
    const char32_t code = character_at(text, at);
    at += character_bytes(text[at]);
    if (at == text.size()) return at;
    const char32_t next = character_at(text, at);
    if (code < 0x80 && next < 0x80 && code != '\r') return at;
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(code),
                                         static_cast<utf8proc_int32_t>(next), &state)) {
      return at;
    }
  }
}

std::uint32_t count_characters(std::string_view text) {
  return static_cast<std::uint32_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

Charsmap::Charsmap(std::string_view base64) {
  const std::string bytes = from_base64(base64);
  const std::size_t size = bytes.size() < kUnitBytes ? 0 : unit_at(bytes, 0);
  if (size < kUnitBytes || size % kUnitBytes != 0 || size > bytes.size() - kUnitBytes) {
    throw UsageError("a charsmap needs the bytes of its trie in front, within " +
                     detail::counted(bytes.size(), "byte") + "; got " + std::to_string(size));
  }
  units_.resize(size / kUnitBytes);
  for (std::size_t i = 0; i < units_.size(); ++i) units_[i] = unit_at(bytes, i + 1);
  replacements_ = bytes.substr(kUnitBytes + size);
  if (!detail::is_utf8(replacements_)) throw UsageError("a charsmap needs text in UTF-8");
}

// SentencePiece takes the first entry that the group begins with, even if it is shorter.
std::optional<std::string_view> Charsmap::find(std::string_view group) const {
  std::uint32_t at = offset_of(units_[0]);
  for (const char c : group) {
    const auto byte = static_cast<unsigned char>(c);
    at ^= byte;
    if (byte == 0 || at >= units_.size() || label_of(units_[at]) != byte) return std::nullopt;
    const std::uint32_t unit = units_[at];
    at ^= offset_of(unit);
    if (!has_value(unit)) continue;
    if (at >= units_.size()) return std::nullopt;
    const std::uint32_t begin = value_of(units_[at]);
    const bool is_inside = begin <= replacements_.size() &&
                           (begin == replacements_.size() ||
                            (static_cast<unsigned char>(replacements_[begin]) & 0xC0) != 0x80);
    if (!is_inside) return std::nullopt;
    const std::size_t end = std::min(replacements_.find('\0', begin), replacements_.size());
    return std::string_view(replacements_).substr(begin, end - begin);
  }
  return std::nullopt;
}

// Returns whether there is a replacement. If it is longer, its last characters are inserted; if it
// is shorter, the last character before stands for the rest of the group.
bool Charsmap::append_replacement(std::string_view group,
                                  std::vector<Replacement>& characters) const {
  const std::optional<std::string_view> found = find(group);
  if (!found) return false;
  const std::uint32_t from = count_characters(group), to = count_characters(*found);
  std::uint32_t i = 0;
  for (std::size_t at = 0; at < found->size(); at += character_bytes((*found)[at]), ++i) {
    characters.push_back({character_at(*found, at), i >= from, 0});
  }
  if (to >= from || characters.empty()) return true;
  Replacement& last = characters.back();
  last.removed += from - to;
  if (last.is_inserted) {  // it becomes one that replaces
    last.is_inserted = false;
    --last.removed;
  }
  return true;
}

void Charsmap::normalise(AlignedText& aligned) const {
  const std::string_view text = aligned.text;
  std::vector<Replacement> characters;
  characters.reserve(text.size());
  bool is_changed = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_group(text, at);
    if (end - at <= kMostGroupBytes && append_replacement(text.substr(at, end - at), characters)) {
      is_changed = true;
      at = end;
    }
    while (at < end) {
      const std::size_t bytes = character_bytes(text[at]);
      if (append_replacement(text.substr(at, bytes), characters)) {
        is_changed = true;
      } else {
        characters.push_back({character_at(text, at), false, 0});
      }
      at += bytes;
    }
  }
  if (is_changed) replace(aligned, characters);
}

}  // namespace dynet_like::nn::text
