// Common parts of tests of structured prediction: scores in tables, gradients, bits, batches.
#pragma once

#include <gtest/gtest.h>

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

/// Expects that all dense gradients of the recorded loss are its slopes, in double.
inline void expect_loss_has_slopes(const ParameterCollection& model,
                                   const std::function<Expression(ComputationGraph&)>& record) {
  ComputationGraph graph(double_options());
  Gradients gradients;
  graph.backward(record(graph), gradients);
  expect_slopes(model, gradients, [&] {
    ComputationGraph again(double_options());
    return record(again).value().at(0);
  });
}

/// A parameter's values as data of a sample. (Values of parameters alone are shared by all
/// samples.)
inline Expression own_copy(ComputationGraph& graph, const Parameter& values) {
  return parameter(graph, values) + input(graph, 0.0f);
}

/// Records the loss of sample i.
using RecordLoss = std::function<Expression(ComputationGraph&, unsigned sample)>;

/// The losses of samples, and all dense gradients.
inline std::vector<float> bits_of(const ParameterCollection& model, unsigned samples,
                                  const RecordLoss& record, batching::Policy policy,
                                  unsigned threads) {
  GraphOptions options;
  options.policy = policy;
  options.threads = threads;
  Minibatch minibatch(options);
  std::vector<Expression> losses;
  for (unsigned i = 0; i < samples; ++i) {
    losses.push_back(record(minibatch.new_graph(), i));
    minibatch.add_loss(losses.back());
  }
  std::vector<float> all = {minibatch.forward()};
  const Gradients& gradients = minibatch.backward();
  for (const Expression& loss : losses) testing::append(all, loss.value());
  for (const auto& storage : model.storages()) {
    const std::vector<float> values = gradients.values(Parameter(storage));
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

inline void expect_batching_changes_no_bit(const ParameterCollection& model, unsigned samples,
                                           const RecordLoss& record) {
  using batching::Policy;
  const std::vector<float> expected = bits_of(model, samples, record, Policy::none, 1);
  for (const Policy policy : {Policy::automatic, Policy::depth, Policy::agenda, Policy::descent}) {
    for (const unsigned threads : {1u, 2u}) {
      EXPECT_TRUE(testing::same(bits_of(model, samples, record, policy, threads), expected))
          << batching::name_of(policy) << ", " << threads << " threads";
    }
  }
}

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
