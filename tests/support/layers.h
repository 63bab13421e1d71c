// Common parts of tests of layers: models in double with random numbers, and their numbers.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "tests/support/same_bits.h"
#include "tests/support/slow_build.h"

namespace dynet_like::nn {

using Doubles = std::vector<double>;

inline GraphOptions double_options() {
  GraphOptions options;
  options.dtype = DType::f64;
  options.seed = 7;
  return options;
}

/// Draws all numbers of all parameters anew, so that no bias is zero.
inline void randomise(const ParameterCollection& model, std::uint64_t seed) {
  Random random(seed);
  for (const auto& storage : model.storages()) {
    const Tensor values = storage->tensor();
    for (unsigned i = 0; i < storage->size(); ++i) values.set(i, 0.5 * random.normal());
    storage->values_written();
  }
}

inline Doubles numbers(const ParameterCollection& model, const std::string& name) {
  return as_doubles(model.find(name)->tensor());
}

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// y += W x, W column-major.
inline void add_product(Doubles& y, const Doubles& w, const Doubles& x) {
  ASSERT_EQ(w.size(), y.size() * x.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (std::size_t j = 0; j < x.size(); ++j) y[i] += w[j * y.size() + i] * x[j];
  }
}

inline void expect_near(const Tensor& got, const Doubles& expected) {
  ASSERT_EQ(got.d.size(), expected.size());
  for (unsigned i = 0; i < got.d.size(); ++i) EXPECT_NEAR(got.at(i), expected[i], 1e-12);
}

inline Doubles row(const LookupParameter& table, unsigned i) { return as_doubles(table.values(i)); }

/// Expects that gradients are the slopes of loss(), which reads the current parameters.
template <class Loss>
void expect_slopes(const ParameterCollection& model, const Gradients& gradients, const Loss& loss) {
  constexpr double kStep = 1e-5;
  for (const auto& storage : model.storages()) {
    Doubles gradient = gradients.all_doubles(*storage);
    gradient.resize(storage->size());  // if there is none, it is zero
    for (unsigned i = 0; i < storage->size(); ++i) {
      const double before = storage->tensor().at(i);
      const auto loss_at = [&](double value) {
        storage->tensor().set(i, value);
        storage->values_written();
        return loss();
      };
      const double slope = (loss_at(before + kStep) - loss_at(before - kStep)) / (2 * kStep);
      loss_at(before);
      EXPECT_NEAR(gradient[i], slope, 1e-8 * std::max(1.0, std::abs(slope)))
          << storage->name << ' ' << i;
    }
  }
}

/// The same for record(graph), which returns a loss.
template <class Record>
void expect_gradients(const ParameterCollection& model, const Record& record) {
  ComputationGraph graph(double_options());
  Gradients gradients;
  graph.backward(record(graph), gradients);
  expect_slopes(model, gradients, [&] {
    ComputationGraph again(double_options());
    return record(again).value().at(0);
  });
}

/// The losses record(graph, 0), record(graph, 1), ... of one minibatch, and all gradients.
template <class Record>
std::vector<float> losses_and_gradients(const ParameterCollection& model, unsigned samples,
                                        const Record& record, const GraphOptions& options) {
  Minibatch minibatch(options);
  std::vector<Expression> losses;
  for (unsigned sample = 0; sample < samples; ++sample) {
    losses.push_back(record(minibatch.new_graph(), sample));
    minibatch.add_loss(losses.back());
  }
  std::vector<float> all{minibatch.forward()};
  const Gradients& gradients = minibatch.backward();
  for (const Expression& loss : losses) testing::append(all, loss.value());
  for (const auto& storage : model.storages()) {
    const std::vector<float> values = gradients.all_values(*storage);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

/// Expects the bits of nodes that run one by one under all policies, with several threads, in parts
/// that fit a limit of memory, and where batches are verified; where tests are slow, with one
/// thread.
template <class Record>
void expect_same_bits_in_batches(const ParameterCollection& model, unsigned samples,
                                 const Record& record) {
  using batching::Policy;
  GraphOptions options;
  options.seed = 7;
  options.policy = Policy::none;
  const auto alone = losses_and_gradients(model, samples, record, options);
  const auto check = [&](const GraphOptions& other) {
    EXPECT_TRUE(testing::same_sums(alone, losses_and_gradients(model, samples, record, other)))
        << batching::name_of(other.policy) << ", " << other.threads << " threads, limit "
        << other.memory_limit;
  };
  for (const Policy policy : {Policy::automatic, Policy::depth, Policy::agenda, Policy::descent}) {
    for (const unsigned threads : {1u, 2u}) {
      if (threads > 1 && runs_slowly()) continue;
      options.policy = policy;
      options.threads = threads;
      check(options);
    }
  }
  options = {};
  options.seed = 7;
  options.threads = runs_slowly() ? 1 : 3;
  options.memory_limit = 100'000;
  check(options);
  options.threads = 1;
  options.verify_batching = true;
  check(options);
}

/// A matrix whose numbers depend on a seed.
inline Expression drawn_matrix(ComputationGraph& graph, unsigned rows, unsigned columns,
                               std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(std::size_t{rows} * columns);
  for (float& value : values) value = static_cast<float>(random.normal());
  return input(graph, Dim({rows, columns}), values);
}

}  // namespace dynet_like::nn
