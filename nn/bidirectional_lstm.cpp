// BidirectionalLSTM: two LSTMs per layer, and what they say joined by position.
#include "nn/bidirectional_lstm.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"

namespace dynet_like::nn {

BidirectionalLSTM::BidirectionalLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
                                     unsigned layers, const std::string& name) {
  if (layers == 0) throw UsageError("[BidirectionalLSTM] need at least 1 layer; got 0");
  ParameterCollection own = model.add_subcollection(name);
  for (unsigned layer = 0; layer < layers; ++layer) {
    const unsigned size = layer == 0 ? inputs : 2 * hidden;
    const LSTM forward(own, size, hidden, "forward");
    layers_.push_back({forward, LSTM(own, size, hidden, "backward")});
  }
}

std::vector<Expression> BidirectionalLSTM::Layer::read(ComputationGraph& graph,
                                                       std::span<const Expression> xs) const {
  const std::vector<Expression> reversed(xs.rbegin(), xs.rend());
  const std::vector<LSTM::State> left = forward(graph, xs), right = backward(graph, reversed);
  std::vector<Expression> both;
  both.reserve(xs.size());
  for (std::size_t i = 0; i < xs.size(); ++i) {
    both.push_back(concatenate({left[i].h, right[xs.size() - 1 - i].h}));
  }
  return both;
}

std::vector<Expression> BidirectionalLSTM::operator()(ComputationGraph& graph,
                                                      std::span<const Expression> xs) const {
  return (*this)(graph, xs, Dropout(0), false);
}

std::vector<Expression> BidirectionalLSTM::operator()(ComputationGraph& graph,
                                                      std::span<const Expression> xs,
                                                      const Dropout& between, bool training) const {
  std::vector<Expression> outputs = layers_.front().read(graph, xs);
  for (const Layer& layer : std::span(layers_).subspan(1)) {
    for (Expression& output : outputs) output = between(output, training);
    outputs = layer.read(graph, outputs);
  }
  return outputs;
}

Expression BidirectionalLSTM::final_states(ComputationGraph& graph,
                                           std::span<const Expression> xs) const {
  if (xs.empty()) throw UsageError("[BidirectionalLSTM] need at least 1 input; got 0");
  std::vector<Expression> below;
  for (const Layer& layer : std::span(layers_).first(layers_.size() - 1)) {
    below = layer.read(graph, xs);
    xs = below;
  }
  const std::vector<Expression> reversed(xs.rbegin(), xs.rend());
  return concatenate({layers_.back().forward(graph, xs).back().h,
                      layers_.back().backward(graph, reversed).back().h});
}

}  // namespace dynet_like::nn
