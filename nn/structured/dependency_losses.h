// Losses of dependency trees: CRFs over all trees of a sentence, with crossing arcs or without.
#pragma once

#include <span>

#include "dynet_like/graph/expression.h"
#include "nn/structured/dependency_trees.h"

namespace dynet_like::nn {

// Scores of arcs and heads are as in dependency_trees.h: {n + 1, n}, rows are heads, row 0 is the
// root. The score of a tree is the sum over its arcs, its probability e^score / (sum of e^score
// over all trees). Results are {1}. The gradient of a log partition by a score is the probability
// that the arc is in the tree. The functions throw ShapeError for other shapes, and UsageError for
// heads that do not make such a tree. If a tree is forbidden, its loss is infinite, with a finite
// gradient. If all trees are forbidden, log partitions are -infinity and losses NaN.

/// The score of one tree.
Expression tree_score(const Expression& scores, std::span<const unsigned> heads,
                      Roots roots = Roots::one);

/// For trees without crossing arcs, by the inside algorithm on Eisner's items (Eisner 1996, Paskin
/// 2001), in O(n^3): ln of the sum of e^score, and the negative log likelihood of one tree.
Expression projective_log_partition(const Expression& scores, Roots roots = Roots::one);
Expression projective_tree_loss(const Expression& scores, std::span<const unsigned> heads,
                                Roots roots = Roots::one);

/// The same for all trees, by the determinant of a matrix {n, n} (Tutte 1948; Koo et al. 2007). The
/// determinant is made of sums and differences of e^score, so scores may differ by up to about 15
/// (30 in double): if a cycle is that much better than any tree, the result is wrong, -infinity or
/// NaN. If all trees are forbidden, gradients are NaN.
Expression matrix_tree_log_partition(const Expression& scores, Roots roots = Roots::one);
Expression matrix_tree_loss(const Expression& scores, std::span<const unsigned> heads,
                            Roots roots = Roots::one);

}  // namespace dynet_like::nn
