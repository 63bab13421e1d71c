// A CRF over binary trees of labelled spans, for parsing constituents.
#pragma once

#include <span>
#include <vector>

#include "dynet_like/graph/expression.h"
#include "nn/structured/labelled_span.h"

namespace dynet_like::nn {

// A binary tree over n words has 2n - 1 spans: the sentence, and of every span that is longer than
// a word its two parts. Each span has a label. The score of a tree is the sum of those of its
// labelled spans, and its probability e^score / (sum of e^score over all trees).
//
// Scores come by width: scores[w - 1] are those of all spans of w words, {labels} with a minibatch
// element for every start, so n - w + 1 of them. The functions throw UsageError for a sentence
// without words and ShapeError for other shapes. Scores of -infinity forbid a labelled span. The
// loss of a forbidden tree is infinite, with a finite gradient; where all trees are forbidden, the
// log partition is -infinity, the loss NaN.

/// The negative log likelihood of the right tree, whose spans may come in any order. Shapes: {1}.
/// Throws UsageError unless they make a binary tree with labels that are there.
Expression span_loss(std::span<const Expression> scores, std::span<const LabelledSpan> gold);
/// ln of the sum of e^score over all trees, by the inside algorithm (Baker 1979). Its gradient by a
/// score is the probability that the labelled span is in the tree. Shapes: {1}.
Expression span_log_partition(std::span<const Expression> scores);
/// The score of one tree. Shapes: {1}. Throws as span_loss does.
Expression span_score(std::span<const Expression> scores, std::span<const LabelledSpan> tree);

/// The tree with the largest score, a span before its parts, the left one first (Cocke, Kasami
/// and Younger 1967). Of equal trees that with the first labels and the shortest left parts, from
/// the whole sentence down. Computes the values if that is not done. -infinity forbids a span.
/// Throws NumericError for NaN and infinity, UsageError if every tree is forbidden.
std::vector<LabelledSpan> best_spans(std::span<const Expression> scores);

}  // namespace dynet_like::nn
