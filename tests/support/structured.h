// Common parts of tests of structured prediction: scores in tables, gradients, bits, batches.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "tests/support/layers.h"
#include "tests/support/same_bits.h"

namespace dynet_like::nn {

/// ln of a sum of exponentials, which are added one by one.
class LogSum {
 public:
  void add(double x) { terms_.push_back(x); }
  double value() const {
    double top = terms_.at(0), sum = 0;
    for (const double x : terms_) top = std::max(top, x);
    for (const double x : terms_) sum += std::exp(x - top);
    return top + std::log(sum);
  }

 private:
  std::vector<double> terms_;
};

/// A parameter's values as data of a sample. (Values of parameters alone are shared by all
/// samples.)
inline Expression own_copy(ComputationGraph& graph, const Parameter& values) {
  return parameter(graph, values) + input(graph, 0.0f);
}

/// Scores of spans that are parameters, one of {labels, n - w + 1} for each width w.
struct SpanScores {
  SpanScores(unsigned words, unsigned labels, unsigned longest, DType dtype) : model(1, dtype) {
    for (unsigned width = 1; width <= std::min(words, longest); ++width) {
      widths.push_back(model.add_parameters({labels, words - width + 1}));
    }
    randomise(model, 9 + words);
  }

  /// Those of the first words, with spans as minibatch elements.
  std::vector<Expression> operator()(ComputationGraph& graph, unsigned words) const {
    std::vector<Expression> result;
    for (unsigned width = 1; width <= std::min<std::size_t>(words, widths.size()); ++width) {
      const unsigned labels = widths[0].dim().rows(), count = words - width + 1;
      const Expression all = own_copy(graph, widths[width - 1]);
      result.push_back(reshape(pick_range(all, 0, count, 1), Dim({labels}, count)));
    }
    return result;
  }

  ParameterCollection model;
  std::vector<Parameter> widths;
};

/// Records the loss of sample i.
using RecordLoss = std::function<Expression(ComputationGraph&, unsigned sample)>;

/// The number of batches of forward for the losses of sentences with these lengths.
inline double batches_of(const std::vector<unsigned>& lengths, const RecordLoss& record) {
  Minibatch minibatch;
  for (const unsigned length : lengths) {
    minibatch.add_loss(record(minibatch.new_graph(), length));
  }
  minibatch.forward();
  return static_cast<double>(minibatch.explain().batches);
}

/// Expects that sentences of 5 to 36 words take at most `factor` times the batches of 32 sentences
/// of 36 words.
inline void expect_lengths_share_batches(double factor, const RecordLoss& record) {
  std::vector<unsigned> different;
  for (unsigned i = 0; i < 32; ++i) different.push_back(5 + i * 13 % 32);
  const std::vector<unsigned> equal(32, 36);
  const double shared = batches_of(different, record), least = batches_of(equal, record);
  ::testing::Test::RecordProperty("different", static_cast<int>(shared));
  ::testing::Test::RecordProperty("equal", static_cast<int>(least));
  EXPECT_LE(shared, factor * least);
}

}  // namespace dynet_like::nn
