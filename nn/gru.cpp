// GRU: one node per element.
#include "nn/gru.h"

#include "dynet_like/graph/computation_graph.h"
#include "nn/check_input.h"
#include "nn/gates.h"

namespace dynet_like::nn {

GRU::GRU(ParameterCollection& model, unsigned inputs, unsigned hidden, const LayerOptions& options)
    : hidden_(hidden) {
  ParameterCollection own = add_layer(model, options.name, kName);
  input_weights_ = add_gate_weights(own, 3, hidden, inputs, "W");
  hidden_weights_ = add_gate_weights(own, 3, hidden, hidden, "U");
  input_bias_ = add_gate_bias(own, hidden, {0, 0, 0}, "b_x");
  hidden_bias_ = add_gate_bias(own, hidden, {0, 0, 0}, "b_h");
  along_ = recursion<State>(
      [cell = *this](const Expression& x, const std::vector<State>& before) {
        return cell.step(before.empty() ? cell.start(*x.pg) : before[0], x);
      },
      "GRU");
}

Expression GRU::start(ComputationGraph& graph) const { return zeros(graph, Dim({hidden_})); }

Expression GRU::step(const Expression& h, const Expression& x) const {
  check_input("GRU", x, input_weights_.dim()[1], input_weights_.get_storage());
  check_input("GRU", h, hidden_, hidden_weights_.get_storage(), false, "states");
  return gru_cell(hidden_bias_, hidden_weights_, h, input_bias_, input_weights_, x);
}

Expression GRU::step_without_input(const Expression& h) const {
  check_input("GRU", h, hidden_, hidden_weights_.get_storage(), false, "states");
  return gru_cell(hidden_bias_, hidden_weights_, h);
}

std::vector<Expression> GRU::operator()(std::span<const Expression> xs) const {
  std::vector<Expression> states;
  states.reserve(xs.size());
  for (const Expression& x : xs) {
    states.push_back(step(states.empty() ? start(x.graph("GRU")) : states.back(), x));
  }
  return states;
}

unsigned GRU::columns_of(const Expression& xs) const {
  return checked_columns("GRU", xs, input_weights_.dim()[1], input_weights_.get_storage());
}

States<GRU::State> GRU::along(const Expression& xs) const {
  return along_(Structure::sequence(columns_of(xs)), xs);
}

States<GRU::State> GRU::operator()(const Expression& xs, const State& before) const {
  return along_(Structure::sequence(columns_of(xs)), xs, before);
}

States<GRU::State> GRU::backwards(const Expression& xs) const {
  return along_(Structure::reversed_sequence(columns_of(xs)), xs);
}

}  // namespace dynet_like::nn
