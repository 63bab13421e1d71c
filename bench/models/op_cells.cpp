// The formulas of nn/, one gate at a time.
#include "bench/models/op_cells.h"

#include <algorithm>
#include <span>
#include <stdexcept>

namespace dynet_like::bench {

namespace {

// One parameter per gate, in the order of the layer's rows.
std::vector<Parameter> add_per_gate(ParameterCollection& model, const std::string& name,
                                    const std::vector<std::string>& gates, const Dim& dim) {
  std::vector<Parameter> parameters;
  for (const std::string& gate : gates) {
    parameters.push_back(model.add_parameters(dim, name + "_" + gate));
  }
  return parameters;
}

// Gates i, o and u of a leaf.
CellState leaf_of(std::span<const Parameter> weights, std::span<const Parameter> bias,
                  const Expression& x) {
  const auto sum = [&](unsigned gate) { return affine_transform({bias[gate], weights[gate], x}); };
  const Expression i = sigmoid(sum(0)), o = sigmoid(sum(1)), u = tanh(sum(2));
  const Expression c = cmult(i, u);
  return {cmult(o, tanh(c)), c};
}

}  // namespace

OpTreeLSTM::OpTreeLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
                       const nn::LayerOptions& options) {
  const std::vector<std::string> gates = {"fl", "fr", "i", "o", "u"};
  ParameterCollection own = model.add_subcollection(options.name);
  leaf_weights_ = add_per_gate(own, "W", {"i", "o", "u"}, {hidden, inputs});
  left_weights_ = add_per_gate(own, "U_left", gates, {hidden, hidden});
  right_weights_ = add_per_gate(own, "U_right", gates, {hidden, hidden});
  bias_ = add_per_gate(own, "b", gates, {hidden});
}

OpTreeLSTM::State OpTreeLSTM::leaf(const Expression& x) const {
  return leaf_of(leaf_weights_, std::span(bias_).subspan(2), x);
}

OpTreeLSTM::State OpTreeLSTM::inner(const State& left, const State& right) const {
  const auto sum = [&](unsigned gate) {
    return affine_transform(
        {bias_[gate], left_weights_[gate], left.h, right_weights_[gate], right.h});
  };
  const Expression f_left = sigmoid(sum(0)), f_right = sigmoid(sum(1));
  const Expression i = sigmoid(sum(2)), o = sigmoid(sum(3)), u = tanh(sum(4));
  const Expression c = cmult(i, u) + cmult(f_left, left.c) + cmult(f_right, right.c);
  return {cmult(o, tanh(c)), c};
}

OpOwnForgetTreeLSTM::OpOwnForgetTreeLSTM(ParameterCollection& model, unsigned inputs,
                                         unsigned hidden, const nn::LayerOptions& options)
    : own_(model.add_subcollection(options.name)),
      leaf_weights_(add_per_gate(own_, "W", {"i", "o", "u"}, {hidden, inputs})),
      left_weights_(add_per_gate(own_, "U_left", {"i", "o", "u"}, {hidden, hidden})),
      right_weights_(add_per_gate(own_, "U_right", {"i", "o", "u"}, {hidden, hidden})),
      bias_(add_per_gate(own_, "b", {"i", "o", "u"}, {hidden})),
      forget_(own_, hidden, hidden, {.name = "forget"}) {}

OpOwnForgetTreeLSTM::State OpOwnForgetTreeLSTM::leaf(const Expression& x) const {
  return leaf_of(leaf_weights_, bias_, x);
}

OpOwnForgetTreeLSTM::State OpOwnForgetTreeLSTM::inner(const State& left, const State& right) const {
  const auto sum = [&](unsigned gate) {
    return affine_transform(
        {bias_[gate], left_weights_[gate], left.h, right_weights_[gate], right.h});
  };
  const Expression i = sigmoid(sum(0)), o = sigmoid(sum(1)), u = tanh(sum(2));
  const Expression f_left = sigmoid(forget_(left.h));
  const Expression f_right = sigmoid(forget_(right.h));
  const Expression c = cmult(i, u) + cmult(f_left, left.c) + cmult(f_right, right.c);
  return {cmult(o, tanh(c)), c};
}

OpLSTM::OpLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
               const nn::LayerOptions& options)
    : hidden_(hidden) {
  const std::vector<std::string> gates = {"f", "i", "o", "u"};
  ParameterCollection own = model.add_subcollection(options.name);
  input_weights_ = add_per_gate(own, "W", gates, {hidden, inputs});
  hidden_weights_ = add_per_gate(own, "U", gates, {hidden, hidden});
  bias_ = add_per_gate(own, "b", gates, {hidden});
}

OpLSTM::State OpLSTM::start(ComputationGraph& graph) const {
  return {zeros(graph, Dim({hidden_})), zeros(graph, Dim({hidden_}))};
}

OpLSTM::State OpLSTM::step(const State& before, const Expression& x) const {
  const auto sum = [&](unsigned gate) {
    return affine_transform(
        {bias_[gate], input_weights_[gate], x, hidden_weights_[gate], before.h});
  };
  const Expression f = sigmoid(sum(0)), i = sigmoid(sum(1)), o = sigmoid(sum(2));
  const Expression c = cmult(i, tanh(sum(3))) + cmult(f, before.c);
  return {cmult(o, tanh(c)), c};
}

OpGRU::OpGRU(ParameterCollection& model, unsigned inputs, unsigned hidden,
             const nn::LayerOptions& options)
    : hidden_(hidden) {
  const std::vector<std::string> gates = {"r", "z", "n"};
  ParameterCollection own = model.add_subcollection(options.name);
  input_weights_ = add_per_gate(own, "W", gates, {hidden, inputs});
  hidden_weights_ = add_per_gate(own, "U", gates, {hidden, hidden});
  input_bias_ = add_per_gate(own, "b_x", gates, {hidden});
  hidden_bias_ = add_per_gate(own, "b_h", gates, {hidden});
}

Expression OpGRU::start(ComputationGraph& graph) const { return zeros(graph, Dim({hidden_})); }

Expression OpGRU::step(const Expression& h, const Expression& x) const {
  ComputationGraph& graph = *x.pg;
  const auto sum = [&](unsigned gate) {
    return affine_transform({parameter(graph, input_bias_[gate]) + hidden_bias_[gate],
                             input_weights_[gate], x, hidden_weights_[gate], h});
  };
  const Expression r = sigmoid(sum(0)), z = sigmoid(sum(1));
  const Expression from_x = affine_transform({input_bias_[2], input_weights_[2], x});
  const Expression from_h = affine_transform({hidden_bias_[2], hidden_weights_[2], h});
  const Expression n = tanh(from_x + cmult(r, from_h));
  return cmult(1.0f - z, n) + cmult(z, h);
}

Expression OpGRU::step_without_input(const Expression& h) const {
  const auto sum = [&](unsigned gate) {
    return affine_transform({hidden_bias_[gate], hidden_weights_[gate], h});
  };
  const Expression r = sigmoid(sum(0)), z = sigmoid(sum(1)), n = tanh(cmult(r, sum(2)));
  return cmult(1.0f - z, n) + cmult(z, h);
}

void take_values(const ParameterCollection& ops, const ParameterCollection& fused) {
  std::size_t taken = 0;
  for (const auto& whole : fused.storages()) {
    const Tensor from = whole->tensor();
    std::vector<std::shared_ptr<ParameterStorage>> parts;
    for (const auto& part : ops.storages()) {
      if (part->name == whole->name || part->name.starts_with(whole->name + "_")) {
        parts.push_back(part);
      }
    }
    // If a whole has a single part, this copies all elements, whatever the shape.
    const unsigned rows = parts.size() == 1 ? from.d.size() : from.d.rows();
    unsigned first = 0;
    for (const auto& part : parts) {
      const Tensor to = part->tensor();
      const unsigned part_rows = parts.size() == 1 ? to.d.size() : to.d.rows();
      if (to.d.size() / part_rows != from.d.size() / rows || first + part_rows > rows) {
        throw std::logic_error(part->name + " is no part of " + whole->name);
      }
      for (unsigned i = 0; i < to.d.size(); ++i) {
        to.set(i, from.at(i / part_rows * rows + first + i % part_rows));
      }
      first += part_rows;
    }
    if (first != rows) throw std::logic_error(whole->name + " has other rows op by op");
    taken += parts.size();
  }
  if (taken != ops.size()) throw std::logic_error("a parameter is in one of the forms only");
}

}  // namespace dynet_like::bench
