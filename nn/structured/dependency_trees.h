// The best dependency tree for scores of arcs, with crossing arcs or without.
#pragma once

#include <span>
#include <vector>

#include "dynet_like/core/tensor.h"
#include "nn/data/dependency_tree.h"

namespace dynet_like::nn {

// A tree over the words 1 to n is the list of their heads: heads[m - 1] is the head of word m, and
// 0 is the root, which is not a word. Scores of arcs are a matrix {n + 1, n}: row h and column m -
// 1 have the score of the arc from h to m. Scores from a word to itself are not read. A score of
// -infinity forbids an arc.

// The decoders find the tree with the largest sum of scores. If several are best, the same scores
// always give the same tree: at every choice the first head, or the first split, wins. They throw
// UsageError unless there are n (n + 1) scores with n >= 1, and if forbidden arcs leave no tree;
// ShapeError for a tensor of another shape; NumericError for NaN and infinity.

/// The best tree without crossing arcs, in O(n^3) (Eisner 1996).
std::vector<unsigned> eisner(std::span<const float> scores, Roots roots = Roots::one);
std::vector<unsigned> eisner(const Tensor& scores, Roots roots = Roots::one);
/// The best tree of all, in O(n^2) (Chu and Liu 1965, Edmonds 1967, Tarjan 1977).
std::vector<unsigned> chu_liu_edmonds(std::span<const float> scores, Roots roots = Roots::one);
std::vector<unsigned> chu_liu_edmonds(const Tensor& scores, Roots roots = Roots::one);

/// The best label of each arc of a tree, of equal labels the first. Scores: {labels, n + 1, n}.
/// Throws UsageError for a wrong number of scores and heads out of range, ShapeError for a tensor
/// of another shape, NumericError for NaN.
std::vector<unsigned> best_labels(std::span<const float> scores, std::span<const unsigned> heads);
std::vector<unsigned> best_labels(const Tensor& scores, std::span<const unsigned> heads);

}  // namespace dynet_like::nn
