// What can be known of a word by looking at its characters.
#pragma once

#include <string>
#include <vector>

namespace dynet_like::examples {

/// How many features a word has.
constexpr unsigned kWordFeatures = 9;

/// A word's form in lower case; its first one to three and last one to four bytes; and its shape,
/// the kinds of its characters without repetitions: "Xx-9" of "Boeing-747". Each begins with what
/// it is: "form ", "shape ", "begin ", "end ".
std::vector<std::string> word_features(const std::string& word);
/// Those of an empty word, of all words of a sentence, and of an empty word again.
std::vector<std::string> sentence_features(const std::vector<std::string>& words);

}  // namespace dynet_like::examples
