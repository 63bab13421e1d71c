// Forms, ends and shapes of words.
#include "examples/full/support/word_features.h"

#include <algorithm>
#include <utility>

#include "nn/data/word_normalisation.h"

namespace dynet_like::examples {

std::vector<std::string> word_features(const std::string& word) {
  const std::string form = nn::normalised(word, {.lower_case = true});
  std::string shape;
  for (const char c : word) {
    const bool upper = c >= 'A' && c <= 'Z', digit = c >= '0' && c <= '9';
    const bool lower = (c >= 'a' && c <= 'z') || static_cast<signed char>(c) < 0;
    const char kind = upper ? 'X' : lower ? 'x' : digit ? '9' : c;
    if (!shape.ends_with(kind)) shape.push_back(kind);
  }
  std::vector<std::string> features = {"form " + form, "shape " + shape};
  for (const std::size_t size : {1, 2, 3, 4}) {
    if (size < 4) features.push_back("begin " + form.substr(0, size));
    features.push_back("end " + form.substr(form.size() - std::min(size, form.size())));
  }
  return features;
}

std::vector<std::string> sentence_features(const std::vector<std::string>& words) {
  std::vector<std::string> all = word_features("");
  const auto append = [&](const std::string& word) {
    for (std::string& feature : word_features(word)) all.push_back(std::move(feature));
  };
  for (const std::string& word : words) append(word);
  append("");
  return all;
}

}  // namespace dynet_like::examples
