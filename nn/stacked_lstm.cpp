// StackedLSTM: the outputs of a layer are the inputs of the next.
#include "nn/stacked_lstm.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"

namespace dynet_like::nn {

StackedLSTM::StackedLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
                         unsigned layers, float dropout, const std::string& name)
    : dropout_(dropout) {
  if (layers == 0) throw UsageError("[StackedLSTM] need at least 1 layer; got 0");
  ParameterCollection own = model.add_subcollection(name);
  for (unsigned i = 0; i < layers; ++i) {
    layers_.emplace_back(own, i == 0 ? inputs : hidden, hidden, "layer_" + std::to_string(i));
  }
}

StackedLSTM::State StackedLSTM::start(ComputationGraph& graph) const {
  return State(layers_.size(), layers_.front().start(graph));
}

StackedLSTM::State StackedLSTM::step(const State& before, const Expression& x,
                                     bool training) const {
  if (before.size() != layers_.size()) {
    throw UsageError("[StackedLSTM] need a state for each of " + std::to_string(layers_.size()) +
                     " layers; got " + std::to_string(before.size()));
  }
  State after;
  after.reserve(layers_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Expression input = i == 0 ? x : dropout_(after.back().h, training);
    after.push_back(layers_[i].step(before[i], input));
  }
  return after;
}

std::vector<StackedLSTM::State> StackedLSTM::operator()(std::span<const Expression> xs,
                                                        bool training) const {
  std::vector<State> states;
  states.reserve(xs.size());
  for (const Expression& x : xs) {
    states.push_back(
        step(states.empty() ? start(x.graph("StackedLSTM")) : states.back(), x, training));
  }
  return states;
}

}  // namespace dynet_like::nn
