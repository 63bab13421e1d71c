// LinearChainCRF: scores whole sequences of tags.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "dynet_like/graph/recursion.h"
#include "nn/structured/label_chain.h"

namespace dynet_like::nn {

/// A conditional random field over a chain (Lafferty, McCallum and Pereira 2001), over the outputs
/// of a network. Tags y of a sentence with emissions e, a vector of one score per tag and position,
/// have
///   score(y) = start[y_1] + sum of e_t[y_t] + sum of transitions[y_t, y_(t + 1)] + end[y_n]
/// and the probability e^score(y) / (sum of e^score over all sequences of tags). Emissions are a
/// matrix {tags, n}. Scores of -infinity forbid a tag. The loss of forbidden tags is infinite, with
/// a finite gradient; where all sequences are forbidden, the log partition is -infinity without
/// gradient, the loss NaN, and `best` one of them.
class LinearChainCRF {
 public:
  /// Adds its parameters "transitions" {tags, tags} (from the row's tag to the column's), "start"
  /// and "end" {tags}, zero at first, to a subcollection of `model`. Throws ShapeError for no tags.
  /// Those of -infinity forbid what they are scores of.
  LinearChainCRF(ParameterCollection& model, unsigned tags, const LayerOptions& options = {});

  // All of the following throw ShapeError for emissions of another shape.

  /// The negative log likelihood of the right tags: log_partition - score. Shapes: {1}. Throws
  /// UsageError for tags that are not there, or not one per emission.
  Expression loss(const Expression& emissions, std::span<const unsigned> gold) const;
  /// ln of the sum of e^score over all sequences of tags. Shapes: {1}. With `tags`, one per
  /// emission, only over sequences that have them; a negative one stands for any tag. Where only
  /// some tags of a sentence are known, the loss is log_partition(e) - log_partition(e, known)
  /// (Tsuboi et al. 2008). Throws UsageError for tags that are not there, or not one per emission.
  Expression log_partition(const Expression& emissions, const std::vector<int>& tags = {}) const;
  /// Of one sequence of tags. Shapes: {1}. Throws as loss does.
  Expression score(const Expression& emissions, std::span<const unsigned> tags) const;
  /// The sequence with the largest score (Viterbi 1967), of equal ones that with the first tags at
  /// the end: at every position 1 for its tag and 0 for the others, without gradient. Shapes:
  /// {tags, n}.
  Expression best(const Expression& emissions) const;

  unsigned tags() const { return chain_.labels(); }

 private:
  /// The number of words.
  unsigned check(const Expression& emissions) const;

  LabelChain chain_;
  /// For every tag, the largest score of sequences that end with it at a word, and for every
  /// transition 1 if it is the last one of the best.
  Recursion<std::array<Expression, 2>> best_prefixes_;
  /// A tag from the one behind it.
  Recursion<Expression> backwards_;
};

}  // namespace dynet_like::nn
