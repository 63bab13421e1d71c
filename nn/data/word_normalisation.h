// Normalised words, so that a vocabulary treats several forms as one: small letters, one digit.
#pragma once

#include <string>
#include <string_view>

namespace dynet_like::nn {

/// How words are changed before they are added or looked up; by default not at all.
struct WordNormalisation {
  bool lower_case = false;  ///< makes letters small, in all alphabets
  bool digits = false;      ///< replaces decimal digits by "0", in all scripts

  explicit operator bool() const { return lower_case || digits; }
  bool operator==(const WordNormalisation&) const = default;
};

/// The normalised word: "Boeing-747" becomes "boeing-000". Each character is converted by itself,
/// as in the Unicode of the library utf8proc, independently of its neighbours and of the language:
/// "ΣΑΣ" becomes "σασ".
/// Bytes that are not UTF-8 stay unchanged. Normalising twice is the same as once.
std::string normalised(std::string_view word, WordNormalisation normalisation);

/// The word with its small letters made capital, each by itself.
std::string capitalised(std::string_view word);

}  // namespace dynet_like::nn
