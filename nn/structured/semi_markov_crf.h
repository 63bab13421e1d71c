// SemiMarkovCRF: scores whole segmentations of a sentence into labelled segments.
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
/// Scores come by length: scores[l - 1] are those of all segments of l words, {labels} with a
/// minibatch element for every start, so n - l + 1 of them, for every length up to max_length that
/// a sentence of n words has. Functions throw UsageError for a sentence without words and
/// ShapeError for other shapes. Scores of -infinity forbid a segment. The loss of forbidden
/// segments is infinite, with a finite gradient; where all segmentations are forbidden, the log
/// partition is -infinity, the loss NaN.
class SemiMarkovCRF {
 public:
  /// Adds its parameters "transitions" {labels, labels} (from the row's label to the column's),
  /// "start" and "end" {labels}, zero at first, to a subcollection of `model`. Throws ShapeError
  /// for no labels, UsageError without `max_length`. Those of -infinity forbid what they are
  /// scores of.
  SemiMarkovCRF(ParameterCollection& model, unsigned labels, const SemiMarkovCRFOptions& options);

  /// The negative log likelihood of the right segments: log_partition - score. Shapes: {1}. Throws
  /// UsageError unless they follow each other from the first word to the last, none too long, with
  /// labels that are there.
  Expression loss(std::span<const Expression> scores, std::span<const LabelledSpan> gold) const;
  /// ln of the sum of e^score over all segmentations. Its gradient by a score is the probability
  /// of the labelled segment. Shapes: {1}.
  Expression log_partition(std::span<const Expression> scores) const;
  /// Of one segmentation. Shapes: {1}. Throws as loss does.
  Expression score(std::span<const Expression> scores,
                   std::span<const LabelledSpan> segments) const;
  /// The segmentation with the largest score. Of equal ones that with the first label at the end,
  /// then the shortest last segment, then the same before it. Computes the values if that is not
  /// done. -infinity forbids a segment. Throws NumericError for NaN and infinity, UsageError if
  /// every segmentation is forbidden.
  std::vector<LabelledSpan> best(std::span<const Expression> scores) const;

  unsigned labels() const { return chain_.labels(); }
  unsigned max_length() const { return max_length_; }

 private:
  unsigned check(std::span<const Expression> scores) const;
  void check(unsigned words, std::span<const LabelledSpan> segments) const;

  /// For every label, ln of the sum over all segmentations up to a word: whose last segment has the
  /// label, and with what a segment with the label behind it adds.
  using Prefixes = std::array<Expression, 2>;

  unsigned max_length_;
  LabelChain chain_;
  Recursion<Prefixes> prefixes_;
};

}  // namespace dynet_like::nn
