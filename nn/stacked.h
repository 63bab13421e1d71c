// Stacked: several recurrent layers, each of which reads the outputs of the one below.
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "nn/gru.h"
#include "nn/layer_options.h"
#include "nn/lstm.h"

namespace dynet_like::nn {

/// Recurrent layers on top of each other (Graves 2013). Dropout is applied between layers, but not
/// to the state that a layer passes to its next step (Zaremba et al. 2014). `Layer` is LSTM, GRU,
/// or a class with the same members.
template <class Layer>
class Stacked {
 public:
  /// The state after an element: those of all layers, from the lowest.
  using State = std::vector<typename Layer::State>;

  /// Adds layers "layer_0", "layer_1", ... to a subcollection of `model`, by default "stacked_lstm"
  /// or "stacked_gru". Throws UsageError for no layers, ShapeError for size 0.
  Stacked(ParameterCollection& model, unsigned inputs, unsigned hidden,
          const StackOptions& options = {})
      : dropout_(options.dropout) {
    if (options.layers == 0) throw UsageError("[Stacked] need at least 1 layer; got 0");
    ParameterCollection own =
        add_layer(model, options.name, std::string("stacked_") + Layer::kName);
    for (unsigned i = 0; i < options.layers; ++i) {
      layers_.push_back(
          Layer(own, i == 0 ? inputs : hidden, hidden, {.name = "layer_" + std::to_string(i)}));
    }
  }
  // Moving copies, so that a moved-from object still has its layers.
  Stacked(const Stacked&) = default;
  Stacked& operator=(const Stacked&) = default;

  /// The state before the first element: zeros.
  State start(ComputationGraph& graph) const {
    return State(layers_.size(), layers_.front().start(graph));
  }

  /// The state after one more element. Shapes: x {inputs}. Throws ShapeError unless x fits,
  /// UsageError unless `before` has a state for every layer.
  State step(const State& before, const Expression& x) const {
    if (before.size() != layers_.size()) {
      throw UsageError("[Stacked] need a state for each of " +
                       detail::counted(layers_.size(), "layer") + "; got " +
                       std::to_string(before.size()));
    }
    State after;
    after.reserve(layers_.size());
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const Expression input = i == 0 ? x : dropout(output(after), dropout_);
      after.push_back(layers_[i].step(before[i], input));
    }
    return after;
  }

  /// The states after every element of a whole sequence.
  std::vector<State> operator()(std::span<const Expression> xs) const {
    std::vector<State> states;
    states.reserve(xs.size());
    for (const Expression& x : xs) {
      states.push_back(step(states.empty() ? start(x.graph("Stacked")) : states.back(), x));
    }
    return states;
  }

  /// The last layer's states after every element, for elements that are the columns of a matrix,
  /// with one node per layer. Shapes: xs {inputs, n}. Throws ShapeError unless xs fits.
  template <std::same_as<Expression> Matrix>
  States<typename Layer::State> operator()(const Matrix& xs) const {
    States<typename Layer::State> states = layers_.front()(xs);
    for (std::size_t i = 1; i < layers_.size(); ++i) {
      states = layers_[i](dropout(Layer::output(states.all()), dropout_));
    }
    return states;
  }

  /// The output of the last layer. Shapes: {hidden}. Throws UsageError for a state of no layers.
  static const Expression& output(const State& state) {
    if (state.empty()) throw UsageError("[Stacked] need a state with a layer or more; got none");
    return Layer::output(state.back());
  }

  unsigned layers() const { return static_cast<unsigned>(layers_.size()); }
  unsigned hidden() const { return layers_.front().hidden(); }

 private:
  std::vector<Layer> layers_;
  float dropout_;
};

using StackedLSTM = Stacked<LSTM>;
using StackedGRU = Stacked<GRU>;

}  // namespace dynet_like::nn
