// Reads the tables, decodes UTF-8, and makes normal forms in two steps.
#include "examples/full/dynet_japanese_tagger/characters.h"

#include <algorithm>
#include <charconv>

#include "dynet_like/core/errors.h"
#include "nn/data/text_lines.h"

namespace dynet_like::examples {

std::u32string to_characters(std::string_view text) {
  if (!detail::is_utf8(text)) {
    throw UsageError("[to_characters] need UTF-8; got " + detail::quoted_text(text));
  }
  std::u32string characters;
  characters.reserve(text.size());
  for (const char byte : text) {
    const auto bits = static_cast<unsigned char>(byte);
    if (bits < 0x80) {
      characters.push_back(bits);
    } else if (bits >= 0xC0) {  // the first of 2, 3 or 4 bytes
      characters.push_back(bits & (bits < 0xE0 ? 0x1F : bits < 0xF0 ? 0x0F : 0x07));
    } else {
      characters.back() = characters.back() << 6 | (bits & 0x3F);
    }
  }
  return characters;
}

std::string to_text(std::u32string_view characters) {
  std::string text;
  for (const char32_t c : characters) {
    const auto add = [&](unsigned first, int shift) {
      text.push_back(static_cast<char>(first | c >> shift));
      for (shift -= 6; shift >= 0; shift -= 6) {
        text.push_back(static_cast<char>(0x80 | (c >> shift & 0x3F)));
      }
    };
    if (c < 0x80) {
      add(0, 0);
    } else if (c < 0x800) {
      add(0xC0, 6);
    } else if (c < 0x10000) {
      add(0xE0, 12);
    } else {
      add(0xF0, 18);
    }
  }
  return text;
}

Characters::Characters(const std::string& path) : flags_(0x110000) {
  const nn::TextLimits limits;
  std::ifstream file = nn::open_text(path, limits);
  nn::LineReader reader(file, path, limits);
  for (std::string_view line; reader.next(line);) {
    const std::string_view property = line.substr(0, line.find('\t'));
    std::vector<char32_t> numbers;
    const char* at = line.data() + property.size();
    while (at < line.data() + line.size()) {
      std::uint32_t number = 0;
      const auto [end, error] = std::from_chars(at + 1, line.data() + line.size(), number, 16);
      if (error != std::errc() || number >= flags_.size()) break;
      numbers.push_back(number);
      at = end;
    }
    if (numbers.empty() || at != line.data() + line.size()) {
      throw FileError(path, "need a property and code points; got " + detail::quoted_text(line),
                      reader.number());
    }
    add(property, numbers);
  }
}

void Characters::add(std::string_view property, const std::vector<char32_t>& all) {
  const char32_t c = all.front(), last = all.back();
  if (property == "decomposes") {
    flags_[c] |= kDecomposes;
    decompositions_[c].assign(all.begin() + 1, all.end());
  } else if (property == "class") {
    flags_[c] |= kMark;
    classes_[c] = last;
  } else if (property == "composes") {
    flags_[all.at(1)] |= kFollows;
    compositions_[{c, all.at(1)}] = last;
  } else if (property == "lower") {
    flags_[c] |= kUpper;
    lower_[c] = last;
  } else if (property == "space") {
    flags_[c] |= kSpace;
  } else {  // from the first to the last
    for (char32_t i = c; i <= last; ++i) flags_[i] |= kLetterOrDigit;
  }
}

std::u32string Characters::normalized(const std::u32string& text) const {
  const auto may_change = [&](char32_t c) { return has(c, kDecomposes | kMark | kFollows); };
  if (std::none_of(text.begin(), text.end(), may_change)) return text;
  return composed(decomposed(text));
}

std::u32string Characters::decomposed(const std::u32string& text) const {
  std::u32string result;
  for (const char32_t c : text) {
    if (has(c, kDecomposes)) {
      result += decompositions_.at(c);
    } else {
      result += c;
    }
  }
  const auto is_mark = [&](char32_t c) { return has(c, kMark); };
  for (auto begin = result.begin(); begin != result.end();) {
    begin = std::find_if(begin, result.end(), is_mark);
    const auto end = std::find_if_not(begin, result.end(), is_mark);
    std::stable_sort(begin, end, [&](char32_t a, char32_t b) { return class_of(a) < class_of(b); });
    begin = end;
  }
  return result;
}

std::u32string Characters::composed(const std::u32string& text) const {
  std::u32string result;
  std::size_t starter = text.size();  // index of the last starter in the result
  unsigned last_class = 0;
  for (const char32_t c : text) {
    const unsigned its_class = class_of(c);
    // A starter, or a mark of the same class, in between prevents composition with the last
    // starter.
    if (starter < result.size() && (starter + 1 == result.size() || last_class < its_class)) {
      const auto pair = compositions_.find({result[starter], c});
      if (pair != compositions_.end()) {
        result[starter] = pair->second;
        continue;
      }
    }
    if (its_class == 0) starter = result.size();
    last_class = its_class;
    result += c;
  }
  return result;
}

std::u32string Characters::lower(std::u32string text) const {
  for (char32_t& c : text) {
    if (has(c, kUpper)) c = lower_.at(c);
  }
  return text;
}

}  // namespace dynet_like::examples
