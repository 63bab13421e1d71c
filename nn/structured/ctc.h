// Connectionist temporal classification: labels of a longer sequence of steps, not aligned.
#pragma once

#include <span>
#include <vector>

#include "dynet_like/core/tensor.h"
#include "dynet_like/graph/expression.h"

namespace dynet_like::nn {

// Every step has a score for each of `labels` labels and, as the last class, for the blank (Graves
// et al. 2006). Scores may be any numbers: a softmax makes probabilities of them. A path has one
// class per step. It spells the labels that are left when equal classes that follow each other
// become one, and blanks are removed. The probability of labels is that of all paths that spell
// them.

/// -ln of the probability of `labels`, all paths summed up step by step. Shapes: {labels + 1,
/// steps}, or a {labels + 1} per step -> {1}. Throws UsageError for labels that are not there, no
/// steps, and too few of them: one per label, and one more between equal ones; ShapeError for
/// other shapes. Scores of -infinity forbid classes; the loss is infinite, without gradient, if no
/// path spells the labels, and NaN if a step has no class left.
Expression ctc_loss(const Expression& scores, const std::vector<unsigned>& labels);
Expression ctc_loss(std::span<const Expression> scores, const std::vector<unsigned>& labels);

// Decoders read scores {labels + 1, steps}. They throw ShapeError unless it is such a matrix, and
// NumericError for NaN, infinity and a step whose scores are all -infinity.

/// What the best class of every step spells, of equal ones the first.
std::vector<unsigned> ctc_greedy(const Tensor& scores);

struct CtcLabels {
  std::vector<unsigned> labels = {};
  double log_probability = 0;  ///< of the paths that were kept
};

/// The likeliest labels, best first, of a search that keeps `beam` beginnings at every step (Graves
/// 2012, Hannun et al. 2014). Of equal ones the first that were found stand first. Exact
/// if no beginning had to be dropped. Throws UsageError for a beam of 0.
std::vector<CtcLabels> ctc_beam(const Tensor& scores, unsigned beam);

}  // namespace dynet_like::nn
