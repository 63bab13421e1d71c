// BidirectionalLSTM: two LSTMs per layer, and what they say joined by position.
#include "nn/bidirectional_lstm.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/ops.h"

namespace dynet_like::nn {

namespace {

std::vector<Expression> reversed(std::span<const Expression> xs) {
  return {xs.rbegin(), xs.rend()};
}

}  // namespace

BidirectionalLSTM::BidirectionalLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
                                     unsigned layers, float dropout, const std::string& name)
    : dropout_(dropout) {
  if (layers == 0) throw UsageError("[BidirectionalLSTM] need at least 1 layer; got 0");
  ParameterCollection own = model.add_subcollection(name);
  for (unsigned layer = 0; layer < layers; ++layer) {
    const unsigned size = layer == 0 ? inputs : 2 * hidden;
    const LSTM forward(own, size, hidden, "forward");
    layers_.push_back({forward, LSTM(own, size, hidden, "backward")});
  }
}

std::vector<Expression> BidirectionalLSTM::inputs_of(std::size_t layer,
                                                     std::span<const Expression> xs,
                                                     bool training) const {
  std::vector<Expression> inputs(xs.begin(), xs.end());
  for (std::size_t i = 0; i < layer; ++i) {
    const std::vector<LSTM::State> forward = layers_[i].forward(inputs),
                                   backward = layers_[i].backward(reversed(inputs));
    for (std::size_t t = 0; t < inputs.size(); ++t) {
      inputs[t] = concatenate({forward[t].h, backward[inputs.size() - 1 - t].h});
    }
    if (i + 1 == layers_.size()) break;  // nobody reads the last layer's
    for (Expression& input : inputs) input = dropout_(input, training);
  }
  return inputs;
}

std::vector<Expression> BidirectionalLSTM::operator()(std::span<const Expression> xs,
                                                      bool training) const {
  return inputs_of(layers_.size(), xs, training);
}

Expression BidirectionalLSTM::final_states(std::span<const Expression> xs, bool training) const {
  if (xs.empty()) throw UsageError("[BidirectionalLSTM] need at least 1 input; got 0");
  const std::vector<Expression> inputs = inputs_of(layers_.size() - 1, xs, training);
  return concatenate({layers_.back().forward(inputs).back().h,
                      layers_.back().backward(reversed(inputs)).back().h});
}

}  // namespace dynet_like::nn
