// Checks of scores of all spans of a sentence, by width, for models of spans and of segments.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"

namespace dynet_like::nn {

/// Checks that scores[w - 1] are {labels} with a minibatch element for every start, for every width
/// w up to `max_width` that the sentence has. Returns the number of words. Throws UsageError and
/// ShapeError, whose messages begin with `user`.
inline unsigned check_span_scores(const std::string& user, std::span<const Expression> scores,
                                  unsigned max_width = ~0u) {
  if (scores.empty()) throw UsageError("[" + user + "] need scores of at least 1 word; got none");
  const Dim first = scores[0].dim();
  if (first.batch_size() != first.rows()) {
    const unsigned spans = first.size() / first.rows();
    throw ShapeError("[" + user + "] need a vector of scores for each span, a minibatch element, " +
                     to_string(Dim({first.rows()}, spans)) + "; got " + to_string(first) +
                     ": reshape(x, Dim({" + std::to_string(first.rows()) + "}, " +
                     std::to_string(spans) + ")) makes them of columns");
  }
  const unsigned words = first.bd, widths = std::min(words, max_width), labels = first.rows();
  if (scores.size() != widths) {
    throw ShapeError("[" + user + "] need the scores of " + detail::counted(widths, "width") +
                     " for " + detail::counted(words, "word") + "; got those of " +
                     std::to_string(scores.size()));
  }
  for (unsigned width = 1; width <= widths; ++width) {
    const Dim dim = scores[width - 1].dim(), needed = Dim({labels}, words - width + 1);
    if (dim.rows() == labels && dim.batch_size() == labels && dim.bd == needed.bd) continue;
    throw ShapeError("[" + user + "] need a score per label for every span of " +
                     detail::counted(width, "word") + ", " + to_string(needed) + "; got " +
                     to_string(dim));
  }
  return words;
}

/// The numbers of a tensor. Throws NumericError, which begins with `user`, for NaN and infinity.
inline std::vector<double> checked_numbers(const std::string& user, const Tensor& tensor) {
  std::vector<double> numbers = as_doubles(tensor);
  for (const double number : numbers) {
    if (number < std::numeric_limits<double>::infinity()) continue;
    throw NumericError("[" + user + "] need numbers below infinity; got " + std::to_string(number) +
                       " among " + to_string(tensor.d));
  }
  return numbers;
}

/// The numbers of checked scores. A sample waits for all of them at once.
class SpanNumbers {
 public:
  SpanNumbers(const std::string& user, std::span<const Expression> scores)
      : labels_(scores[0].dim().rows()) {
    for (const Tensor& each : values_of(scores)) values_.push_back(checked_numbers(user, each));
  }

  // Moving copies, so that it always has its numbers.
  SpanNumbers(const SpanNumbers&) = default;
  SpanNumbers& operator=(const SpanNumbers&) = default;

  /// The scores of all labels for a span of `width` words.
  std::span<const double> operator()(unsigned start, unsigned width) const {
    return std::span(values_[width - 1]).subspan(std::size_t{labels_} * start, labels_);
  }

 private:
  unsigned labels_;
  std::vector<std::vector<double>> values_;
};

}  // namespace dynet_like::nn
