// StackedLSTM: several LSTM layers, each of which reads the outputs of the one below.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "nn/dropout.h"
#include "nn/lstm.h"

namespace dynet_like::nn {

/// LSTM layers on top of each other (Graves 2013). In training, dropout between two layers leaves
/// what a layer passes on to its own next step alone (Zaremba et al. 2014).
class StackedLSTM {
 public:
  /// After an element: the states of all layers, from the lowest; the output is that of the last,
  /// `back().h`.
  using State = std::vector<LSTM::State>;

  /// Adds LSTMs "layer_0", "layer_1", ... to a subcollection of `model`. Throws UsageError for no
  /// layers and unless 0 <= dropout < 1, ShapeError for size 0.
  StackedLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden, unsigned layers,
              float dropout = 0, const std::string& name = "stacked_lstm");
  // To move is to copy: it never has no layers.
  StackedLSTM(const StackedLSTM&) = default;
  StackedLSTM& operator=(const StackedLSTM&) = default;

  /// The state before the first element: zeros.
  State start(ComputationGraph& graph) const;
  /// The state after one more element; with dropout if `training`. Shapes: x {inputs}. Throws
  /// ShapeError unless x fits, UsageError unless `before` has a state for every layer.
  State step(const State& before, const Expression& x, bool training = false) const;
  /// The states after every element of a sequence that begins with it.
  std::vector<State> operator()(std::span<const Expression> xs, bool training = false) const;

  unsigned layers() const { return static_cast<unsigned>(layers_.size()); }
  unsigned hidden() const { return layers_.front().hidden(); }

 private:
  std::vector<LSTM> layers_;
  Dropout dropout_;
};

}  // namespace dynet_like::nn
