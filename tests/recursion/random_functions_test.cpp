// Random functions as cells and as recursions: whatever of their elementwise operations runs as
// one, the values are those of the function called directly, and so are the gradients.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "dynet_like/dynet_like.h"
#include "tests/support/same_bits.h"

namespace dynet_like::testing {
namespace {

constexpr unsigned kSize = 7;
using States2 = std::array<Expression, 2>;

/// A function of a column and two states that makes new values of those that there are, some of
/// them of another size, and returns two.
class RandomFunction {
 public:
  RandomFunction(std::uint64_t seed, ParameterCollection& model) : seed_(seed) {
    for (unsigned i = 0; i < 3; ++i) {
      weights_.push_back(model.add_parameters({kSize, kSize}, "W" + std::to_string(i)));
      biases_.push_back(
          model.add_parameters({kSize}, ParameterInitUniform(-1, 1), "b" + std::to_string(i)));
    }
  }

  States2 operator()(const Expression& x, const std::vector<States2>& before) const {
    std::mt19937_64 random(seed_);
    std::vector<Expression> values = {x, x};
    if (!before.empty()) values = {x, before[0][0], before[0][1]};
    const auto any = [&] { return values[random() % values.size()]; };
    const unsigned steps = 3 + static_cast<unsigned>(random() % 14);
    for (unsigned step = 0; step < steps; ++step) {
      const Expression a = any(), b = any();
      values.push_back(random() % 5 == 0 ? linear(a, b, random) : elementwise(a, b, random));
    }
    return {tanh(values.back()), tanh(values[values.size() - 2])};
  }

 private:
  Expression linear(const Expression& a, const Expression& b, std::mt19937_64& random) const {
    ComputationGraph& graph = *a.pg;
    const Expression w = parameter(graph, weights_[random() % 3]);
    const Expression bias = parameter(graph, biases_[random() % 3]);
    switch (random() % 4) {
      case 0:
        return softmax(a);
      case 1:  // parts of a value, each of which is read by itself
        return tanh(concatenate({pick_range(a * 1.0f, 0, 3), pick_range(b * 1.0f, 3, kSize)}));
      case 2:
        return affine_transform({bias, w, a, parameter(graph, weights_[0]), b});
      default:
        return w * a;
    }
  }
  static Expression elementwise(const Expression& a, const Expression& b, std::mt19937_64& random) {
    switch (random() % 16) {
      case 0:
        return a + b;
      case 1:
        return a - b;
      case 2:
        return cmult(a, b);
      case 3:
        return cdiv(a, 2 + square(b));
      case 4:
        return 1 - a;
      case 5:
        return a * 0.5f;
      case 6:
        return a + 0.25f;
      case 7:
        return a / 3;
      case 8:
        return -a;
      case 9:
        return sigmoid(a);
      case 10:
        return max(a, b);
      case 11:
        return relu(a);
      case 12:
        return cmult(sigmoid(a), nobackprop(b));
      case 13:
        return log(1.5f + square(a));
      case 14:
        return sqrt(1 + square(a));
      default:
        return tanh(a);
    }
  }

  std::uint64_t seed_;
  std::vector<Parameter> weights_, biases_;
};

using Cell = CellFunction<States2(const Expression&, const std::vector<States2>&)>;

/// A sequence of words, whose function is called word by word.
template <class F>
Expression call_by_word(ComputationGraph& graph, const LookupParameter& words, const F& function,
                        unsigned length) {
  std::vector<States2> before;
  std::vector<Expression> losses;
  for (unsigned i = 0; i < length; ++i) {
    before = {function(lookup(graph, words, i % 5), before)};
    losses.push_back(squared_norm(before[0][0]) + sum_elems(before[0][1]));
  }
  return sum(losses);
}

Expression call_along(ComputationGraph& graph, const LookupParameter& words,
                      const Recursion<States2>& along, unsigned length) {
  std::vector<Expression> rows;
  for (unsigned i = 0; i < length; ++i) rows.push_back(lookup(graph, words, i % 5));
  const States2 all = along(Structure::sequence(length), concatenate_cols(rows)).all();
  return squared_norm(all[0]) + sum_elems(all[1]);
}

struct Numbers {
  float loss;
  std::vector<float> gradients;
};

template <class Call>
Numbers numbers_of(const ParameterCollection& model, const GraphOptions& options,
                   const Call& call) {
  Minibatch batch(options);
  for (unsigned length = 1; length <= 4; ++length) batch.add_loss(call(batch.new_graph(), length));
  Numbers numbers{batch.forward(), {}};
  const Gradients& gradients = batch.backward();
  for (const auto& storage : model.storages()) {
    // Of a parameter that nothing depends on there may be no gradient.
    std::vector<float> values = gradients.all_values(*storage);
    values.resize(storage->dim.size());
    numbers.gradients.insert(numbers.gradients.end(), values.begin(), values.end());
  }
  return numbers;
}

void expect_near(const Numbers& got, const Numbers& want) {
  EXPECT_NEAR(got.loss, want.loss, 1e-5 * (1 + std::abs(want.loss)));
  ASSERT_EQ(got.gradients.size(), want.gradients.size());
  for (std::size_t i = 0; i < got.gradients.size(); ++i) {
    ASSERT_NEAR(got.gradients[i], want.gradients[i], 1e-5 * (1 + std::abs(want.gradients[i]))) << i;
  }
}

TEST(RandomFunctions, HaveTheValuesAndGradientsOfDirectCalls) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    ParameterCollection model(seed + 1, DType::f64);
    const LookupParameter words = model.add_lookup_parameters(5, {kSize}, "words");
    const RandomFunction function(seed, model);
    const Cell cell(function, "random");
    const auto along = recursion<States2>(function, "random");
    GraphOptions options;
    options.dtype = DType::f64;
    const auto by_word = [&](const auto& f) {
      return [&](ComputationGraph& graph, unsigned length) {
        return call_by_word(graph, words, f, length);
      };
    };
    const Numbers want = numbers_of(model, options, by_word(function));
    expect_near(numbers_of(model, options, by_word(cell)), want);
    const auto sequences = [&](ComputationGraph& graph, unsigned length) {
      return call_along(graph, words, along, length);
    };
    const Numbers got = numbers_of(model, options, sequences);
    expect_near(got, want);
    options.policy = batching::Policy::none;
    const Numbers one_by_one = numbers_of(model, options, sequences);
    EXPECT_EQ(got.loss, one_by_one.loss);
    EXPECT_TRUE(same(got.gradients, one_by_one.gradients));
    if (HasFatalFailure()) return;
  }
}

TEST(RandomFunctions, MayBeGoneWhenTheirGraphsRun) {
  ParameterCollection model(1);
  const LookupParameter words = model.add_lookup_parameters(5, {kSize}, "words");
  const RandomFunction function(3, model);
  Minibatch batch, expected;
  {
    const auto along = recursion<States2>(function, "random");
    for (unsigned length = 1; length <= 3; ++length) {
      batch.add_loss(call_along(batch.new_graph(), words, along, length));
    }
  }
  const auto along = recursion<States2>(function, "random");
  for (unsigned length = 1; length <= 3; ++length) {
    expected.add_loss(call_along(expected.new_graph(), words, along, length));
  }
  EXPECT_EQ(batch.forward(), expected.forward());
  EXPECT_TRUE(same(batch.backward().all_values(*model.storages()[0]),
                   expected.backward().all_values(*model.storages()[0])));
}

// An LSTM gate by gate is a product and an elementwise call per gate matrix and level, not eight.
TEST(RandomFunctions, RunElementwiseOperationsTogether) {
  ParameterCollection model(3);
  const Parameter w = model.add_parameters({4 * kSize, kSize}),
                  u = model.add_parameters({4 * kSize, kSize}),
                  b = model.add_parameters({4 * kSize});
  const auto lstm = recursion<CellState>(
      [&](const Expression& x, const std::vector<CellState>& before) {
        ComputationGraph& graph = *x.pg;
        std::vector<Expression> terms = {parameter(graph, b), parameter(graph, w), x};
        if (!before.empty()) terms.insert(terms.end(), {parameter(graph, u), before[0].h});
        const Expression sums = affine_transform(terms);
        const auto gate = [&](unsigned g) { return pick_range(sums, g * kSize, (g + 1) * kSize); };
        Expression c = cmult(sigmoid(gate(0)), tanh(gate(1)));
        if (!before.empty()) c = c + cmult(sigmoid(gate(2)), before[0].c);
        return CellState{cmult(sigmoid(gate(3)), tanh(c)), c};
      },
      "lstm");
  Minibatch batch;
  for (unsigned sample = 0; sample < 8; ++sample) {
    ComputationGraph& graph = batch.new_graph();
    const Expression words = input(graph, {kSize, 5}, std::vector<float>(5 * kSize, 0.5f));
    batch.add_loss(squared_norm(lstm(Structure::sequence(5), words).last().h));
  }
  batch.forward();
  batch.backward();
  for (const Report::Type& type : batch.explain().types) {
    if (type.op != "lstm") continue;
    // A product and the gates of 5 words, and a call that brings states to where they are read.
    EXPECT_LE(type.forward_calls, 5 * 2 + 2u);
    EXPECT_LE(type.backward_calls, 5 * 2 + 2u);
    return;
  }
  FAIL() << "no recursion ran";
}

}  // namespace
}  // namespace dynet_like::testing
