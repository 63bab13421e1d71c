// The GRU cell, written with public operations.
#include "nn/gru.h"

#include "dynet_like/graph/computation_graph.h"
#include "nn/gates.h"

namespace dynet_like::nn {

namespace {

Expression mix(const Expression& z, const Expression& n, const Expression& h) {
  return cmult(1.0f - z, n) + cmult(z, h);
}

}  // namespace

GRU::GRU(ParameterCollection& model, unsigned inputs, unsigned hidden, const std::string& name)
    : hidden_(hidden) {
  ParameterCollection own = model.add_subcollection(name);
  input_weights_ = add_gate_weights(own, 3, hidden, inputs, "W");
  hidden_weights_ = add_gate_weights(own, 3, hidden, hidden, "U");
  input_bias_ = add_gate_bias(own, hidden, {0, 0, 0}, "b_x");
  hidden_bias_ = add_gate_bias(own, hidden, {0, 0, 0}, "b_h");
}

Expression GRU::start(ComputationGraph& graph) const { return zeros(graph, Dim({hidden_})); }

Expression GRU::step(ComputationGraph& graph, const Expression& h, const Expression& x) const {
  const unsigned n = hidden_;
  const Expression from_x =
      affine_transform({parameter(graph, input_bias_), parameter(graph, input_weights_), x});
  const Expression from_h =
      affine_transform({parameter(graph, hidden_bias_), parameter(graph, hidden_weights_), h});
  const Expression gates = logistic(pick_range(from_x, 0, 2 * n) + pick_range(from_h, 0, 2 * n));
  const Expression r = pick_range(gates, 0, n), z = pick_range(gates, n, 2 * n);
  const Expression kept = cmult(r, pick_range(from_h, 2 * n, 3 * n));
  return mix(z, tanh(pick_range(from_x, 2 * n, 3 * n) + kept), h);
}

Expression GRU::step_without_input(ComputationGraph& graph, const Expression& h) const {
  const unsigned n = hidden_;
  const Expression sums =
      affine_transform({parameter(graph, hidden_bias_), parameter(graph, hidden_weights_), h});
  const Expression gates = logistic(pick_range(sums, 0, 2 * n));
  const Expression r = pick_range(gates, 0, n), z = pick_range(gates, n, 2 * n);
  return mix(z, tanh(cmult(r, pick_range(sums, 2 * n, 3 * n))), h);
}

std::vector<Expression> GRU::operator()(ComputationGraph& graph,
                                        std::span<const Expression> xs) const {
  std::vector<Expression> states;
  states.reserve(xs.size());
  for (const Expression& x : xs) {
    states.push_back(step(graph, states.empty() ? start(graph) : states.back(), x));
  }
  return states;
}

}  // namespace dynet_like::nn
