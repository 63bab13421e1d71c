// Small letters and digits by utf8proc.
#include "nn/data/word_normalisation.h"

#include <algorithm>
#include <cstddef>

#include <utf8proc.h>

#include "dynet_like/core/text.h"
#include "nn/text/characters.h"

namespace dynet_like::nn {

namespace {

char32_t capital_letter(char32_t code) {
  return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code)));
}

char32_t without_value(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code)) == UTF8PROC_CATEGORY_ND ? U'0'
                                                                                        : code;
}

/// The word with each character converted by itself. Bytes that are not UTF-8 stay unchanged.
template <class Convert>
std::string converted(std::string_view word, const Convert& convert) {
  std::string result;
  result.reserve(word.size());
  while (!word.empty()) {
    const auto [bytes, code] = detail::first_character(word);
    if (bytes > 0) {
      text::append_character(convert(code), result);
    } else {
      result += word.front();
    }
    word.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return result;
}

}  // namespace

std::string normalised(std::string_view word, WordNormalisation normalisation) {
  if (!normalisation) return std::string(word);
  return converted(word, [&](char32_t code) {
    const char32_t letter = normalisation.lower_case ? text::small_letter(code) : code;
    return normalisation.digits ? without_value(letter) : letter;
  });
}

std::string capitalised(std::string_view word) { return converted(word, capital_letter); }

}  // namespace dynet_like::nn
