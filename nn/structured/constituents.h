// Constituents: the phrases of any tree as spans, binary trees of them, and back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/graph/expression.h"
#include "nn/structured/labelled_span.h"

namespace dynet_like::nn {

// A constituent is the span of a phrase, so a word alone is one only if a phrase has that word
// alone. The CRF over spans wants binary trees: there, all other spans have one label more, `none`
// (Stern, Andreas and Klein 2017). Lists of spans may be in any order, unless it says otherwise.

/// The label of a constituent of which only the span is known.
inline constexpr unsigned kAnyLabel = ~0u;

/// The constituents of a tree, each before its parts, the left part first. Leaves are words, and
/// their labels do not count. Throws UsageError if a phrase has no label, or the span of another:
/// PennOptions::join_unary makes one of them.
std::vector<LabelledSpan> constituents(const Tree& tree);
/// Those spans of a binary tree that are constituents, in their order.
std::vector<LabelledSpan> constituents(std::span<const LabelledSpan> spans, unsigned none);

/// The spans of a binary tree over so many words that has these constituents. Those with more than
/// two parts are split before their last part, again and again. Each span comes before its parts.
/// Throws UsageError for spans without words or past the last word, for two that cross, and for
/// several labels of one span.
std::vector<LabelledSpan> binarised(std::span<const LabelledSpan> constituents, unsigned words,
                                    unsigned none);

/// The tree with the constituents among these spans, such as those of `best_spans`; tags[i] is the
/// label of the leaf words[i]. If the whole sentence is none and has several parts, the root has
/// Tree::kNoLabel. Throws UsageError unless there is a tag for each word, at least one, and as
/// `binarised` does.
Tree to_tree(std::span<const LabelledSpan> spans, std::span<const std::string> words,
             std::span<const std::uint32_t> tags, unsigned none);

/// The negative log likelihood of all binary trees that have these constituents, with their labels
/// or, for kAnyLabel, any label but `none`; all other spans are `none`. It leaves open how
/// constituents with more than two parts are split. Scores are those of span_loss. Shapes: {1}.
/// Throws as span_log_partition and `binarised` do, and UsageError for a label that is too large.
Expression constituents_loss(std::span<const Expression> scores,
                             std::span<const LabelledSpan> constituents, unsigned none);

}  // namespace dynet_like::nn
