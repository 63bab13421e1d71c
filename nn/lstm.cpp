// LSTM: one node per element.
#include "nn/lstm.h"

#include "dynet_like/graph/computation_graph.h"
#include "nn/check_input.h"
#include "nn/gates.h"

namespace dynet_like::nn {

LSTM::LSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
           const LayerOptions& options)
    : hidden_(hidden) {
  ParameterCollection own = add_layer(model, options.name, kName);
  input_weights_ = add_gate_weights(own, 4, hidden, inputs, "W");
  hidden_weights_ = add_gate_weights(own, 4, hidden, hidden, "U");
  bias_ = add_gate_bias(own, hidden, {1, 0, 0, 0}, "b");
  along_ = recursion<State>(
      [cell = *this](const Expression& x, const std::vector<State>& before) {
        return cell.step(before.empty() ? cell.start(*x.pg) : before[0], x);
      },
      "LSTM");
}

LSTM::State LSTM::start(ComputationGraph& graph) const {
  const Expression zero = zeros(graph, {hidden_});
  return {zero, zero};
}

LSTM::State LSTM::step(const State& before, const Expression& x) const {
  check_input("LSTM", x, input_weights_.dim()[1], input_weights_.get_storage());
  check_input("LSTM", before.h, hidden_, hidden_weights_.get_storage(), false, "states");
  const Expression xs[] = {input_weights_, x, hidden_weights_, before.h};
  return lstm_cell(bias_, xs, std::span(&before.c, 1));
}

std::vector<LSTM::State> LSTM::operator()(std::span<const Expression> xs) const {
  std::vector<State> states;
  states.reserve(xs.size());
  for (const Expression& x : xs) {
    states.push_back(step(states.empty() ? start(x.graph("LSTM")) : states.back(), x));
  }
  return states;
}

unsigned LSTM::columns_of(const Expression& xs) const {
  return checked_columns("LSTM", xs, input_weights_.dim()[1], input_weights_.get_storage());
}

States<LSTM::State> LSTM::along(const Expression& xs) const {
  return along_(Structure::sequence(columns_of(xs)), xs);
}

States<LSTM::State> LSTM::operator()(const Expression& xs, const State& before) const {
  return along_(Structure::sequence(columns_of(xs)), xs, before);
}

States<LSTM::State> LSTM::backwards(const Expression& xs) const {
  return along_(Structure::reversed_sequence(columns_of(xs)), xs);
}

}  // namespace dynet_like::nn
