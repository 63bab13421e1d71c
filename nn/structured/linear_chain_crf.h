// LinearChainCRF: scores whole sequences of tags.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "dynet_like/graph/recursion.h"
#include "nn/structured/label_chain.h"

namespace dynet_like::nn {

/// A conditional random field over a chain (Lafferty, McCallum and Pereira 2001), on top of a
/// network. Emissions e of a sentence have a score for each tag at each position. Tags y have
///   score(y) = start[y_1] + sum of e_t[y_t] + sum of transitions[y_t, y_(t + 1)] + end[y_n]
/// and the probability e^score(y) / (sum of e^score over all sequences of tags). Emissions are a
/// matrix {tags, n}. A score of -infinity forbids a tag. If the given tags are forbidden, their
/// loss is infinite, with a finite gradient. If all sequences are forbidden, the log partition is
/// -infinity without gradient, the loss is NaN, and `best` returns one of them.
class LinearChainCRF {
 public:
  /// Adds its parameters "transitions" {tags, tags} (from the row's tag to the column's), "start"
  /// and "end" {tags}, initially zero, to a subcollection of `model`. You may forbid a transition,
  /// a first or a last tag by -infinity. Throws ShapeError for no tags.
  LinearChainCRF(ParameterCollection& model, unsigned tags, const LayerOptions& options = {});

  // All of the following throw ShapeError for emissions of another shape.

  /// The negative log likelihood of the gold tags: log_partition - score. Shapes: {1}. Throws
  /// UsageError for tags out of range, or not one per emission.
  Expression loss(const Expression& emissions, std::span<const unsigned> gold) const;
  /// ln of the sum of e^score over all sequences of tags. Shapes: {1}. With `tags`, one per
  /// emission, sums only over sequences with these tags; a negative number stands for any tag. If
  /// only some tags of a sentence are known, the loss is log_partition(e) - log_partition(e, known)
  /// (Tsuboi et al. 2008). Throws UsageError for tags out of range, or not one per emission.
  Expression log_partition(const Expression& emissions, const std::vector<int>& tags = {}) const;
  /// The score of one sequence of tags. Shapes: {1}. Throws as loss does.
  Expression score(const Expression& emissions, std::span<const unsigned> tags) const;
  /// The sequence with the largest score (Viterbi 1967), as 1 for the tag at each position and 0
  /// for the others, without gradient. Ties are decided from the end, for the first tag. Shapes:
  /// {tags, n}.
  Expression best(const Expression& emissions) const;

  unsigned tags() const { return chain_.labels(); }

 private:
  /// Checks the shape. Returns the number of words.
  unsigned check(const Expression& emissions) const;

  LabelChain chain_;
  /// For every word: the largest scores of sequences that end with each tag there, and for every
  /// transition 1 if it is the last one of such a sequence, otherwise 0.
  Recursion<std::array<Expression, 2>> best_prefixes_;
  /// Finds each tag from the tag after it.
  Recursion<Expression> backwards_;
};

}  // namespace dynet_like::nn
