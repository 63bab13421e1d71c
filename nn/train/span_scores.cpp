// Spans of labels, and comparing them.
#include "nn/train/span_scores.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet_like::nn {

namespace {

enum class Role { outside, begin, inside, end, single };

std::optional<Role> role_of(char letter) {
  switch (letter) {
    case 'B':
      return Role::begin;
    case 'I':
    case 'M':
      return Role::inside;
    case 'E':
    case 'L':
      return Role::end;
    case 'S':
    case 'U':
    case 'W':
      return Role::single;
    default:
      return std::nullopt;
  }
}

/// "B-x", or "x-B" unless the letter is in front: what it says of the word, and the type "x".
struct Label {
  Role role = Role::outside;
  std::string_view type = {};
};

std::optional<Label> read_label(std::string_view text, bool in_front) {
  if (text == "O") return Label();
  if (text.empty()) return std::nullopt;
  const std::optional<Role> role = role_of(in_front ? text.front() : text.back());
  if (!role) return std::nullopt;
  if (text.size() == 1) return Label{*role};
  if (text[in_front ? 1 : text.size() - 2] != '-') return std::nullopt;
  return Label{*role, in_front ? text.substr(2) : text.substr(0, text.size() - 2)};
}

std::vector<Label> read_labels(std::span<const std::string> texts) {
  std::string unread;
  for (const bool in_front : {true, false}) {
    std::vector<Label> labels;
    for (const std::string& text : texts) {
      const std::optional<Label> label = read_label(text, in_front);
      if (!label) break;
      labels.push_back(*label);
    }
    if (labels.size() == texts.size()) return labels;
    const std::string text = detail::quoted_text(texts[labels.size()]);
    if (unread != text) unread += (unread.empty() ? "" : " beside ") + text;
  }
  throw UsageError(
      "[spans_of] need labels O and, all with the letter in front or all with it behind, B-x or "
      "x-B with a letter of BIESLUMW; got " +
      unread);
}

}  // namespace

std::vector<TypedSpan> spans_of(std::span<const std::string> labels) {
  std::vector<TypedSpan> spans;
  bool is_open = false;  // may the last span go on with this word?
  std::size_t word = 0;
  for (const auto& [role, type] : read_labels(labels)) {
    const std::size_t begin = word++;
    const bool goes_on = role == Role::inside || role == Role::end;
    if (goes_on && is_open && spans.back().type == type) {
      spans.back().end = word;
    } else if (role != Role::outside) {
      spans.push_back({std::string(type), begin, word});
    }
    is_open = role == Role::begin || role == Role::inside;
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
  const std::vector<TypedSpan> there = spans_of(gold), found = spans_of(predicted);
  for (std::size_t i = 0; i < gold.size(); ++i) labels_.add(gold[i] == predicted[i]);
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
