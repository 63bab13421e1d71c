// Features of a word that its characters tell.
#pragma once

#include <string>
#include <vector>

namespace dynet_like::examples {

/// The number of features of a word.
constexpr unsigned kWordFeatures = 9;

/// A word's form in lower case; its first one to three and last one to four bytes; and its shape,
/// the kinds of its characters without repetitions: "Xx-9" for "Boeing-747". Each begins with its
/// kind: "form ", "shape ", "begin ", "end ".
std::vector<std::string> word_features(const std::string& word);
/// The features of an empty word, of all words of a sentence, and of another empty word.
std::vector<std::string> sentence_features(const std::vector<std::string>& words);

}  // namespace dynet_like::examples
