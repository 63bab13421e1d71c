// Reads spans from labels, and compares them.
#include "nn/evaluate/span_scores.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

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

/// A label "B-x", or "x-B": the role of the word, and the type "x".
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

using Texts = std::vector<std::string_view>;

// Reads labels with the letter on one side, up to the first that does not fit.
std::vector<Label> read_side(const Texts& texts, bool in_front) {
  std::vector<Label> labels;
  for (const std::string_view text : texts) {
    const std::optional<Label> label = read_label(text, in_front);
    if (!label) break;
    labels.push_back(*label);
  }
  return labels;
}

struct Reading {
  std::vector<Label> labels;
  std::optional<bool> in_front = {};  ///< where the letters are; empty if both sides fit
};

/// `in_front`: where earlier labels had their letters, if known.
Reading read_labels(const Texts& texts, std::optional<bool> in_front = {}) {
  std::vector<Label> front = read_side(texts, true), behind = read_side(texts, false);
  const bool fits_front = front.size() == texts.size(), fits_behind = behind.size() == texts.size();
  if (!fits_front && !fits_behind) {
    std::string unread = detail::quoted_text(texts[front.size()]);
    const std::string other = detail::quoted_text(texts[behind.size()]);
    if (unread != other) unread += " beside " + other;
    throw UsageError(
        "[spans_of] need labels \"O\", \"B-x\" or \"x-B\" with a letter of BIESLUMW, always first "
        "or always last; got " +
        unread);
  }
  if (in_front && !(*in_front ? fits_front : fits_behind)) {
    throw UsageError(
        fmt::format("[SpanScores] need the letter of labels {}, as in earlier sentences; got {}",
                    *in_front ? "first" : "last",
                    detail::quoted_text(texts[*in_front ? front.size() : behind.size()])));
  }
  Reading reading;
  reading.labels = in_front.value_or(fits_front) ? std::move(front) : std::move(behind);
  if (fits_front != fits_behind) reading.in_front = fits_front;
  return reading;
}

std::vector<TypedSpan> marked_spans(std::span<const Label> labels) {
  std::vector<TypedSpan> spans;
  bool is_open = false;  // whether this word may continue the last span
  std::size_t word = 0;
  for (const auto& [role, type] : labels) {
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

}  // namespace

std::vector<TypedSpan> spans_of(std::span<const std::string> labels) {
  return marked_spans(read_labels(Texts(labels.begin(), labels.end())).labels);
}

void SpanScores::add(std::span<const std::string> gold, std::span<const std::string> predicted) {
  if (gold.size() != predicted.size()) {
    throw UsageError(
        fmt::format("[SpanScores] need as many predicted labels as right ones; got {} "
                    "for {}",
                    predicted.size(), gold.size()));
  }
  // Reads both together: a few labels alone may also fit the wrong side.
  Texts texts(gold.begin(), gold.end());
  texts.insert(texts.end(), predicted.begin(), predicted.end());
  const Reading reading = read_labels(texts, letters_in_front_);
  const std::span<const Label> labels = reading.labels;
  if (reading.in_front) letters_in_front_ = reading.in_front;
  for (std::size_t i = 0; i < gold.size(); ++i) labels_.add(gold[i] == predicted[i]);
  count(marked_spans(labels.first(gold.size())), marked_spans(labels.subspan(gold.size())));
}

void SpanScores::add(std::span<const LabelledSpan> gold, std::span<const LabelledSpan> predicted) {
  const auto typed = [](std::span<const LabelledSpan> spans) {
    std::vector<TypedSpan> all;
    for (const auto& [start, end, label] : spans)
      all.push_back({fmt::to_string(label), start, end});
    return all;
  };
  count(typed(gold), typed(predicted));
}

void SpanScores::count(std::vector<TypedSpan> gold, std::vector<TypedSpan> found) {
  std::ranges::sort(gold);
  std::ranges::sort(found);
  std::vector<TypedSpan> right;
  std::ranges::set_intersection(gold, found, std::back_inserter(right));
  const auto add = [&](const std::vector<TypedSpan>& spans, std::size_t PrecisionRecall::*member) {
    all_.*member += spans.size();
    for (const TypedSpan& span : spans) ++(by_type_[span.type].*member);
  };
  add(gold, &PrecisionRecall::gold);
  add(found, &PrecisionRecall::found);
  add(right, &PrecisionRecall::right);
}

}  // namespace dynet_like::nn
