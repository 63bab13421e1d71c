// Connectionist temporal classification: labels for a longer sequence of steps, without alignment.
#pragma once

#include <span>
#include <vector>

#include "dynet_like/core/tensor.h"
#include "dynet_like/graph/expression.h"

namespace dynet_like::nn {

// Every step has a score for each of `labels` labels and, as the last class, for the blank (Graves
// et al. 2006). Scores may be any numbers: a softmax makes probabilities of them. A path has one
// class per step. To get its labels, join runs of equal classes, then remove blanks. The
// probability of labels is the sum over all paths with these labels.

/// -ln of the probability of `labels`, summed over all paths step by step. Shapes: {labels + 1,
/// steps}, or one {labels + 1} per step -> {1}. Throws UsageError for labels out of range, for no
/// steps, and for too few (each label needs a step, and one more between equal labels); ShapeError
/// for other shapes. A score of -infinity forbids a class. If no path has these labels, the loss is
/// infinite, without gradient; if a step has no class left, it is NaN.
Expression ctc_loss(const Expression& scores, const std::vector<unsigned>& labels);
Expression ctc_loss(std::span<const Expression> scores, const std::vector<unsigned>& labels);

// Decoders read scores {labels + 1, steps}. They throw ShapeError for another shape, and
// NumericError for NaN, infinity and a step whose scores are all -infinity.

/// The labels of the path with the best class in every step, of equal classes the first.
std::vector<unsigned> ctc_greedy(const Tensor& scores);

struct CtcLabels {
  std::vector<unsigned> labels = {};
  double log_probability = 0;  ///< of the paths that the search kept
};

/// The most probable labels, best first, by a search that keeps `beam` prefixes in every step
/// (Graves 2012, Hannun et al. 2014). Equal ones are in the order in which they were found. Exact
/// if no prefix had to be dropped. Throws UsageError for a beam of 0.
std::vector<CtcLabels> ctc_beam(const Tensor& scores, unsigned beam);

}  // namespace dynet_like::nn
