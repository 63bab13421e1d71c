// A CRF over binary trees of labelled spans, for constituency parsing.
#pragma once

#include <span>
#include <vector>

#include "dynet_like/graph/expression.h"
#include "nn/structured/labelled_span.h"

namespace dynet_like::nn {

// A binary tree over n words has 2n - 1 spans: the sentence, and the two parts of every span that
// is longer than a word. Each span has a label. The score of a tree is the sum of the scores of its
// labelled spans, and its probability e^score / (sum of e^score over all trees).
//
// Scores are given by width: scores[w - 1] has the scores of all spans of w words, {labels} with a
// minibatch element for each of the n - w + 1 starts. The functions throw UsageError for a sentence
// without words, and ShapeError for other shapes. A score of -infinity forbids a labelled span. If
// a tree is forbidden, its loss is infinite, with a finite gradient. If all trees are forbidden,
// the log partition is -infinity and the loss NaN.

/// The negative log likelihood of the gold tree, whose spans may be in any order. Shapes: {1}.
/// Throws UsageError unless they are a binary tree with labels in range.
Expression span_loss(std::span<const Expression> scores, std::span<const LabelledSpan> gold);
/// ln of the sum of e^score over all trees, by the inside algorithm (Baker 1979). Its gradient by a
/// score is the probability that the labelled span is in the tree. Shapes: {1}.
Expression span_log_partition(std::span<const Expression> scores);
/// The score of one tree. Shapes: {1}. Throws as span_loss does.
Expression span_score(std::span<const Expression> scores, std::span<const LabelledSpan> tree);

/// The tree with the largest score, each span before its parts, the left part first (Cocke, Kasami
/// and Younger 1967). Of equal trees, the one with the first labels and the shortest left parts,
/// from the whole sentence down. Computes values that have not been computed yet. Throws
/// NumericError for NaN and infinity, UsageError if every tree is forbidden.
std::vector<LabelledSpan> best_spans(std::span<const Expression> scores);

}  // namespace dynet_like::nn
