// All dependency trees of a few words, for tests that look at them one by one.
#pragma once

#include <vector>

#include "nn/structured/dependency_trees.h"

namespace dynet_like::nn {

using Heads = std::vector<unsigned>;

/// All lists of heads of `words` words for which keep(heads) is true.
template <class Keep>
std::vector<Heads> all_heads(unsigned words, const Keep& keep) {
  std::vector<Heads> kept;
  Heads heads(words, 0);
  while (true) {
    if (keep(heads)) kept.push_back(heads);
    unsigned word = 0;
    while (word < words && heads[word] == words) heads[word++] = 0;
    if (word == words) return kept;
    ++heads[word];
  }
}

inline std::vector<Heads> all_trees(unsigned words, Roots roots) {
  return all_heads(words, [&](const Heads& heads) { return is_tree(heads, roots); });
}

inline std::vector<Heads> all_projective_trees(unsigned words, Roots roots) {
  return all_heads(
      words, [&](const Heads& heads) { return is_tree(heads, roots) && is_projective(heads); });
}

/// The sum of the scores {n + 1, n} of the tree's arcs.
template <class Number>
double score_of(const std::vector<Number>& scores, const Heads& heads) {
  double sum = 0;
  for (std::size_t i = 0; i < heads.size(); ++i) sum += scores[heads[i] + (heads.size() + 1) * i];
  return sum;
}

}  // namespace dynet_like::nn
