// What tests of DyNet's builders share: plain doubles, and what must hold for all of them.
#pragma once

#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/model.h>
#include <utility>

#include "tests/support/layers.h"
#include "tests/support/precompiled.h"

namespace dynet {

using dynet_like::nn::Doubles;
using dynet_like::nn::randomise;

/// W x; a minibatch of one.
struct PlainProduct {
  const Parameter& w;
  const Doubles& x;
};

inline Doubles numbers(const dynet_like::Parameter& p) {
  return as_doubles(p.get_storage().tensor());
}

/// b + W1 x1 + W2 x2 + ...
inline Doubles plain_affine(const Parameter& b, const std::vector<PlainProduct>& products) {
  Doubles sum = numbers(b);
  for (const PlainProduct& product : products) {
    dynet_like::nn::add_product(sum, numbers(product.w), product.x);
  }
  return sum;
}

template <class Function, class... More>
Doubles each(const Function& function, const Doubles& x, const More&... more) {
  Doubles result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) result[i] = function(x[i], more[i]...);
  return result;
}
inline Doubles plain_logistic(const Doubles& x) { return each(dynet_like::nn::sigmoid, x); }
inline Doubles plain_tanh(const Doubles& x) {
  return each([](double e) { return std::tanh(e); }, x);
}
inline Doubles operator*(const Doubles& a, const Doubles& b) {
  return each(std::multiplies<>(), a, b);
}
inline Doubles operator+(const Doubles& a, const Doubles& b) { return each(std::plus<>(), a, b); }
inline Doubles operator+(double a, const Doubles& b) {
  return each([a](double e) { return a + e; }, b);
}
inline Doubles one_minus(const Doubles& x) {
  return each([](double e) { return 1 - e; }, x);
}
inline Doubles rows(const Doubles& x, std::size_t begin, std::size_t end) {
  return {x.begin() + static_cast<std::ptrdiff_t>(begin),
          x.begin() + static_cast<std::ptrdiff_t>(end)};
}
inline Doubles joined(Doubles a, const Doubles& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// The output and the cell of a layer.
struct PlainState {
  Doubles h, c;
};

/// Element i of vectors that have nothing in common: the same for the same arguments.
inline Doubles some_vector(unsigned which, unsigned size) {
  Doubles x(size);
  for (unsigned i = 0; i < size; ++i) {
    x[i] = static_cast<double>(static_cast<float>(std::sin(3.0 * which + 1.7 * i + 0.3)));
  }
  return x;
}
inline Expression as_input(ComputationGraph& graph, const Doubles& x) {
  return input(graph, {static_cast<unsigned>(x.size())}, std::vector<float>(x.begin(), x.end()));
}
inline Expression some_input(ComputationGraph& graph, unsigned which, unsigned size) {
  return as_input(graph, some_vector(which, size));
}

inline void expect_near(const Expression& got, const Doubles& expected, double tolerance = 1e-5) {
  const Doubles values = as_doubles(got.value());
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], tolerance) << i;
  }
}

inline std::vector<float> values_of(const Expression& e) { return as_vector(e.value()); }
inline std::vector<std::vector<float>> values_of(const std::vector<Expression>& all) {
  std::vector<std::vector<float>> result;
  for (const Expression& e : all) result.push_back(values_of(e));
  return result;
}

/// All gradients one behind the other, zeros where there is none. Forgets them.
inline std::vector<float> take_gradients(ParameterCollection& model) {
  std::vector<float> all;
  for (const auto& storage : model.get_parameter_storages()) {
    storage->hand_out();
    const std::vector<float> g = as_vector(storage->g);
    all.insert(all.end(), g.begin(), g.end());
  }
  for (const auto& storage : model.get_lookup_parameter_storages()) {
    for (unsigned row = 0; row < storage->grads.size(); ++row) {
      const std::vector<float> g = as_vector(storage->grads[row]);
      all.insert(all.end(), g.begin(), g.end());
    }
  }
  model.reset_gradient();
  return all;
}

/// Every parameter that is updated has a gradient other than 0.
inline void expect_gradients_everywhere(const ParameterCollection& model) {
  for (const auto& storage : model.get_parameter_storages_base()) {
    float squared_norm = 0;
    storage->g_squared_l2norm(&squared_norm);
    EXPECT_EQ(squared_norm > 0, storage->is_updated()) << storage->name;
  }
}

/// Many samples of one graph have the same bits, forward and backward, in batches and one by one;
/// and as many graphs, one each. record(graph, sample): the sample's output.
template <class Record>
void expect_bits_of_one_by_one(ParameterCollection& model, unsigned samples, const Record& record) {
  const auto run = [&](ComputationGraph& graph) {
    std::vector<Expression> outputs, losses;
    for (unsigned sample = 0; sample < samples; ++sample) {
      outputs.push_back(record(graph, sample));
      losses.push_back(squared_norm(outputs.back()));
    }
    const Expression loss = sum(losses);
    graph.forward(loss);
    graph.backward(loss);
    return std::pair(values_of(outputs), take_gradients(model));
  };
  model.reset_gradient();
  ComputationGraph batched, one_by_one(false);
  const auto results = run(batched);
  EXPECT_EQ(results, run(one_by_one));
  for (unsigned sample = 0; sample < samples; ++sample) {
    ComputationGraph alone;
    EXPECT_EQ(values_of(record(alone, sample)), results.first[sample]) << sample;
  }
  const auto nodes = batched.explain(), single = one_by_one.explain();
  EXPECT_LT(nodes.batches, single.batches / 2);
}

/// The names and shapes of all parameters, one per line.
inline std::string layout_of(const ParameterCollection& model) {
  std::string all;
  for (const auto& storage : model.storages()) {
    all += storage->name + " " + to_string(storage->dim) + "\n";
  }
  return all;
}

}  // namespace dynet
