// Forms of words that a vocabulary takes for one: small letters, and one digit for all.
#pragma once

#include <string>
#include <string_view>

namespace dynet_like::nn {

/// What is done to words before they are added or looked up; nothing by default.
struct WordNormalisation {
  bool lower_case = false;  ///< letters become small ones, in all alphabets
  bool digits = false;      ///< every decimal digit becomes "0", in all scripts

  explicit operator bool() const { return lower_case || digits; }
  bool operator==(const WordNormalisation&) const = default;
};

/// The word in that form: "Boeing-747" becomes "boeing-000". Characters change one by one, as
/// Unicode 14 says, whatever stands around them and whatever the language is: "ΣΑΣ" becomes "σασ".
/// Bytes that are not UTF-8 stay as they are. A form that is normalised again stays as it is.
std::string normalised(std::string_view word, WordNormalisation normalisation);

}  // namespace dynet_like::nn
