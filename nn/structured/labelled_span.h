// LabelledSpan: a part of a sentence, and its label.
#pragma once

#include <string>
#include <vector>

#include "nn/data/tree.h"

namespace dynet_like::nn {

/// The words `start` to `end` - 1, counted from 0, and their label.
struct LabelledSpan {
  unsigned start = 0, end = 0, label = 0;

  bool operator==(const LabelledSpan&) const = default;
};

/// "2 to 5", for messages.
std::string to_string(const LabelledSpan& span);
/// Orders spans so that each comes before its parts, the left part first.
bool comes_before(const LabelledSpan& a, const LabelledSpan& b);

/// The spans of all nodes of a tree, in the order of `best_spans`: each before its parts, the left
/// part first. Throws UsageError if a node has no label.
std::vector<LabelledSpan> labelled_spans(const Tree& tree);

}  // namespace dynet_like::nn
