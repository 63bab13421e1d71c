// SemiMarkovCRF: scores segmentations of a sentence into labelled segments.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/graph/recursion.h"
#include "nn/structured/label_chain.h"
#include "nn/structured/labelled_span.h"

namespace dynet_like::nn {

struct SemiMarkovCRFOptions {
  /// The most words of a segment. It has no default.
  unsigned max_length = 0;
  std::string name = {};
};

/// A semi-Markov conditional random field (Sarawagi and Cohen 2004): a sentence is cut into
/// segments of at most `max_length` words, each with a label. Segments s_1, ..., s_k with labels y
/// have
///   score = start[y_1] + sum of scores(s_i)[y_i] + sum of transitions[y_i, y_(i + 1)] + end[y_k]
/// and the probability e^score / (sum of e^score over all segmentations). The sum is a recursion
/// along the sentence.
///
/// Scores are given by length: scores[l - 1] has the scores of all segments of l words, {labels}
/// with a minibatch element for each of the n - l + 1 starts, for every length up to max_length and
/// n, the number of words. Functions throw UsageError for a sentence without words, and ShapeError
/// for other shapes. A score of -infinity forbids a segment. If the given segments are forbidden,
/// their loss is infinite, with a finite gradient. If all segmentations are forbidden, the log
/// partition is -infinity and the loss NaN.
class SemiMarkovCRF {
 public:
  /// Adds its parameters "transitions" {labels, labels} (from the row's label to the column's),
  /// "start" and "end" {labels}, initially zero, to a subcollection of `model`. You may forbid a
  /// transition, a first or a last label by -infinity. Throws ShapeError for no labels, UsageError
  /// without `max_length`.
  SemiMarkovCRF(ParameterCollection& model, unsigned labels, const SemiMarkovCRFOptions& options);

  /// The negative log likelihood of the gold segments: log_partition - score. Shapes: {1}. Throws
  /// UsageError unless they follow each other from the first word to the last, none is too long,
  /// and labels are in range.
  Expression loss(std::span<const Expression> scores, std::span<const LabelledSpan> gold) const;
  /// ln of the sum of e^score over all segmentations. Its gradient by a score is the probability of
  /// the labelled segment. Shapes: {1}.
  Expression log_partition(std::span<const Expression> scores) const;
  /// The score of one segmentation. Shapes: {1}. Throws as loss does.
  Expression score(std::span<const Expression> scores,
                   std::span<const LabelledSpan> segments) const;
  /// The segmentation with the largest score. Of equal ones, the one with the first label at the
  /// end, then with the shortest last segment, and so on backwards. Computes values that have not
  /// been computed yet. Throws NumericError for NaN and infinity, UsageError if every segmentation
  /// is forbidden.
  std::vector<LabelledSpan> best(std::span<const Expression> scores) const;

  unsigned labels() const { return chain_.labels(); }
  unsigned max_length() const { return max_length_; }

 private:
  unsigned check(std::span<const Expression> scores) const;
  void check(unsigned words, std::span<const LabelledSpan> segments) const;

  /// For every label, at a word: ln of the sum over segmentations up to there whose last segment
  /// has the label; and the same over all of them, with the transition to a next segment of that
  /// label.
  using Prefixes = std::array<Expression, 2>;

  unsigned max_length_;
  LabelChain chain_;
  Recursion<Prefixes> prefixes_;
};

}  // namespace dynet_like::nn
