// An op that runs in a batch and alone: what became of every item, and of parameters.
#pragma once

#include <cstring>

#include "tests/ops/cases.h"
#include "tests/support/precompiled.h"

namespace dynet_like::op_cases {

using Bytes = std::vector<std::byte>;

// What became of one item: its value, and the gradients of the inputs that are its own.
struct Outcome {
  Bytes value;
  std::vector<Bytes> gradients;
};

struct Outcomes {
  std::vector<Outcome> items;
  std::vector<Bytes> parameters;  ///< gradients of the arguments that all items share
  Report report;
};

// Those of item i of several.
inline Bytes slice(const Tensor& tensor, std::size_t i, std::size_t items) {
  const std::size_t bytes = tensor.d.size() * size_of(tensor.dtype()) / items;
  const auto* from = static_cast<const std::byte*>(tensor.data()) + i * bytes;
  return {from, from + bytes};
}

// Inputs that get a gradient although they are no parameters, and all digits that their type has:
// x times a parameter a little above 1, or plus a small one. The op under test takes no part in it.
class Lift {
 public:
  Lift(const Op& op, ParameterCollection& collection)
      : adds_(op.name == "cmult"), parameter_(collection.add_parameters({1})) {
    parameter_.values().set(0, adds_ ? 1.0 / 999 : 1000.0 / 999);
  }
  Expression operator()(const Expression& x) const {
    const Expression other = parameter(x.graph("lift"), parameter_);
    return adds_ ? x + other : cmult(x, other);
  }

 private:
  bool adds_;
  Parameter parameter_;
};

// A call with its items. Arguments flagged `shared` are parameters, the same for all items.
class Trial {
 public:
  Trial(const OpCall& call, DType dtype, Flags shared, std::size_t items, bool special = false)
      : call_(call), shared_(std::move(shared)), collection_(1, dtype) {
    Random random(21);
    items_ = draw_items(call, items, random);
    if (special) add_special_values(random);
    for (std::size_t j = 0; j < call.inputs(); ++j) {
      const std::vector<double>& first = items_[0].inputs[j];
      arguments_.push_back(shared_[j] != 0 ? std::make_unique<Argument>(collection_, call, j, first)
                                           : nullptr);
      lifts_.emplace_back(*call.op, collection_);
    }
    size_ = signature_of(call, dtype).output_size;
    weights_ = converted<float>(draw_weights(items * size_, random));
    options_.dtype = dtype;
  }

  std::size_t items() const { return items_.size(); }
  GraphOptions& options() { return options_; }

  struct Recorded {
    Expression output, loss;
    std::vector<Expression> own;
  };

  Recorded record_items(ComputationGraph& graph, std::size_t first, std::size_t count) const {
    const std::span<const Item> items = std::span(items_).subspan(first, count);
    Recorded recorded;
    std::vector<Expression> inputs;
    for (std::size_t j = 0; j < call_.inputs(); ++j) {
      if (arguments_[j] != nullptr) {
        inputs.push_back(arguments_[j]->in(graph));
        continue;
      }
      const Dim dim = minibatch_of(call_.shapes.inputs[j], count);
      inputs.push_back(lifts_[j](input(graph, dim, joined_input(items, j))));
      recorded.own.push_back(inputs.back());
    }
    recorded.output = record(graph, call_, inputs, items);
    const Dim dim = recorded.output.dim();
    const float* begin = weights_.data() + first * size_;
    const std::vector<float> some(begin, begin + count * size_);
    const Expression weights = input(graph, dim, some);
    recorded.loss = call_.op == &ops::dot_product ? squared_distance(recorded.output, weights)
                                                  : dot_product(recorded.output, weights);
    return recorded;
  }

  static void add_outcomes(const Recorded& recorded, std::size_t items, std::vector<Outcome>& to) {
    const Tensor value = recorded.output.value();
    std::vector<Tensor> gradients;
    for (const Expression& own : recorded.own) gradients.push_back(own.gradient());
    for (std::size_t i = 0; i < items; ++i) {
      to.push_back({slice(value, i, items), {}});
      for (const Tensor& gradient : gradients) {
        to.back().gradients.push_back(slice(gradient, i, items));
      }
    }
  }

  // Item i alone, as this sample of a minibatch; adds its gradients to those that are there.
  Outcome alone(std::size_t i, std::size_t sample, Gradients& gradients) const {
    Minibatch batch(options_);
    for (std::size_t before = 0; before < sample; ++before) batch.new_graph();
    const Recorded recorded = record_items(batch.new_graph(), i, 1);
    batch.add_loss(recorded.loss);
    batch.forward();
    batch.backward(gradients);
    std::vector<Outcome> outcome;
    add_outcomes(recorded, 1, outcome);
    return outcome[0];
  }

  // All together: graph g of the minibatch has the next counts[g] items.
  Outcomes together(std::span<const std::size_t> counts) const {
    Minibatch batch(options_);
    std::vector<Recorded> recorded;
    std::size_t first = 0;
    for (std::size_t count : counts) {
      recorded.push_back(record_items(batch.new_graph(), first, count));
      batch.add_loss(recorded.back().loss);
      first += count;
    }
    batch.forward();
    const Gradients& gradients = batch.backward();
    Outcomes outcomes;
    for (std::size_t g = 0; g < counts.size(); ++g) {
      add_outcomes(recorded[g], counts[g], outcomes.items);
    }
    outcomes.parameters = gradients_of_parameters(gradients);
    outcomes.report = batch.explain();
    return outcomes;
  }

  std::vector<Bytes> gradients_of_parameters(const Gradients& gradients) const {
    std::vector<Bytes> result;
    for (const auto& argument : arguments_) {
      if (argument != nullptr) result.push_back(argument->gradient(gradients));
    }
    return result;
  }

 private:
  // About a quarter of the inputs; signs and places differ from item to item.
  void add_special_values(Random& random) {
    using Limits = std::numeric_limits<float>;
    const float inf = Limits::infinity(), max = Limits::max(), tiny = Limits::denorm_min();
    const float special[] = {-0.0f, 0.0f, inf, -inf, max, tiny, -1e-40f, -90.0f, std::nanf("")};
    for (Item& item : items_) {
      for (auto& values : item.inputs) {
        for (double& x : values) {
          if (random.below(4) == 0) x = static_cast<double>(special[random.below(9)]);
        }
      }
    }
  }

  const OpCall call_;
  Flags shared_;
  ParameterCollection collection_;
  std::vector<Item> items_;
  std::vector<std::unique_ptr<Argument>> arguments_;  // null: every item has its own
  std::vector<Lift> lifts_;
  std::size_t size_ = 0;
  std::vector<float> weights_;
  GraphOptions options_;
};

// All items one by one, and the gradients of parameters after each of them.
struct Reference {
  std::vector<Outcome> items;
  std::vector<std::vector<Bytes>> parameters;

  explicit Reference(const Trial& trial) {
    Gradients gradients;
    for (std::size_t i = 0; i < trial.items(); ++i) {
      items.push_back(trial.alone(i, i, gradients));
      parameters.push_back(trial.gradients_of_parameters(gradients));
    }
  }
};

enum class Nan { by_bytes, by_place };

// A GPU adds up many addends in chunks, which begin anew where a pass ends.
inline bool are_same_sums(const Bytes& a, const Bytes& b, DType dtype) {
  if (default_device()->is_cpu() || a.size() != b.size()) return a == b;
  const auto compare = [&]<class E>(E tolerance) {
    for (std::size_t at = 0; at < a.size(); at += sizeof(E)) {
      E x, y;
      std::memcpy(&x, a.data() + at, sizeof(E));
      std::memcpy(&y, b.data() + at, sizeof(E));
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      if (!(std::abs(x - y) <= tolerance * (1 + std::abs(x)))) return false;
    }
    return true;
  };
  return dtype == DType::f32 ? compare(1e-5f) : compare(1e-12);
}

inline void expect_equal(const Reference& alone, const Outcomes& batch, DType dtype,
                         Nan nan = Nan::by_bytes) {
  const auto view = [&](const Bytes& bytes) {
    return nan == Nan::by_bytes ? bytes : without_nan_payload(bytes, dtype);
  };
  const std::size_t n = batch.items.size();
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(view(batch.items[i].value), view(alone.items[i].value))
        << "item " << i << " of " << n;
    ASSERT_EQ(batch.items[i].gradients.size(), alone.items[i].gradients.size());
    for (std::size_t j = 0; j < batch.items[i].gradients.size(); ++j) {
      ASSERT_EQ(view(batch.items[i].gradients[j]), view(alone.items[i].gradients[j]))
          << "gradient of own input " << j << " of item " << i << " of " << n;
    }
  }
  ASSERT_EQ(batch.parameters.size(), alone.parameters[n - 1].size());
  for (std::size_t p = 0; p < batch.parameters.size(); ++p) {
    ASSERT_TRUE(are_same_sums(view(batch.parameters[p]), view(alone.parameters[n - 1][p]), dtype))
        << "gradient of shared input " << p << " after item " << n;
  }
}

}  // namespace dynet_like::op_cases
