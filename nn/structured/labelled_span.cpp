// The labelled spans of a tree.
#include "nn/structured/labelled_span.h"

#include <algorithm>
#include <cstdint>

namespace dynet_like::nn {

std::string to_string(const LabelledSpan& span) {
  return std::to_string(span.start) + " to " + std::to_string(span.end);
}

bool comes_before(const LabelledSpan& a, const LabelledSpan& b) {
  return a.start != b.start ? a.start < b.start : a.end > b.end;
}

std::vector<LabelledSpan> labelled_spans(const Tree& tree) {
  const std::vector<std::uint32_t> labels = tree.labels();
  std::vector<LabelledSpan> spans;
  unsigned words = 0;  // so far
  for (const Tree::Node& node : tree.nodes()) {
    if (node.child_count == 0) ++words;
    spans.push_back({tree.nodes()[node.first_node].word, words, labels[spans.size()]});
  }
  std::ranges::reverse(spans);  // a node with one child comes before it
  std::ranges::stable_sort(spans, comes_before);
  return spans;
}

}  // namespace dynet_like::nn
