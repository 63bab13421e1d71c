// Spans of labels, and comparing them.
#include "nn/train/span_scores.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

namespace {

/// "B-x" is 'B' and "x"; what marks no span is 'O'.
struct Label {
  char kind = 'O';
  std::string_view type;

  explicit Label(std::string_view text) {
    if (text.empty() || std::string_view("BIES").find(text[0]) == std::string_view::npos) return;
    if (text.size() > 1 && text[1] != '-') return;
    kind = text[0];
    type = text.substr(std::min<std::size_t>(2, text.size()));
  }
};

}  // namespace

std::vector<TypedSpan> spans_of(std::span<const std::string> labels) {
  std::vector<TypedSpan> spans;
  bool is_open = false;  // may the last span go on with this word?
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Label label(labels[i]);
    if (label.kind == 'O') {
      is_open = false;
      continue;
    }
    const bool continues =
        (label.kind == 'I' || label.kind == 'E') && is_open && spans.back().type == label.type;
    if (continues) {
      ++spans.back().end;
    } else {
      spans.push_back({std::string(label.type), i, i + 1});
    }
    is_open = label.kind == 'B' || label.kind == 'I';
  }
  return spans;
}

void SpanScores::add(std::span<const std::string> gold, std::span<const std::string> predicted) {
  if (gold.size() != predicted.size()) {
    throw UsageError(
        fmt::format("[SpanScores] need as many predicted labels as right ones; got {} "
                    "for {}",
                    predicted.size(), gold.size()));
  }
  for (std::size_t i = 0; i < gold.size(); ++i) labels_.add(gold[i] == predicted[i]);
  const std::vector<TypedSpan> there = spans_of(gold), found = spans_of(predicted);
  const auto count = [&](const std::string& type, std::size_t PrecisionRecall::*member) {
    ++(all_.*member);
    ++(by_type_[type].*member);
  };
  for (const TypedSpan& span : there) count(span.type, &PrecisionRecall::gold);
  // Both are in the order of their words.
  auto next = there.begin();
  for (const TypedSpan& span : found) {
    count(span.type, &PrecisionRecall::found);
    while (next != there.end() && next->begin < span.begin) ++next;
    if (next != there.end() && *next == span) count(span.type, &PrecisionRecall::right);
  }
}

}  // namespace dynet_like::nn
