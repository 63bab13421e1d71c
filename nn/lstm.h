// LSTM: a layer that reads a sequence from its first element to its last.
#pragma once

#include <concepts>
#include <span>
#include <vector>

#include "dynet_like/graph/recursion.h"
#include "nn/layer_options.h"

namespace dynet_like::nn {

/// Hochreiter and Schmidhuber (1997) with forget gates (Gers et al. 2000):
///   f, i, o = sigmoid(b + W x + U h), each its own rows of b, W and U;  u = tanh(b + W x + U h)
///   c' = i * u + f * c;  h' = o * tanh(c')
/// The rows are in the order f, i, o, u. W and U are drawn as Glorot and Bengio (2010) propose,
/// gate by gate; b is 1 for the forget gate at first and 0 for the others (Jozefowicz et al. 2015).
class LSTM {
 public:
  /// The state after an element: the output h and the cell c. Shapes: {hidden} and {hidden}.
  using State = CellState;
  static constexpr const char* kName = "lstm";

  /// Adds its parameters "W", "U" and "b" to a subcollection of `model`. Throws ShapeError for size
  /// 0.
  LSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
       const LayerOptions& options = {});

  /// The state before the first element: zeros.
  State start(ComputationGraph& graph) const;
  /// The state after one more element. Shapes: x {inputs}. Throws ShapeError unless x fits.
  State step(const State& before, const Expression& x) const;
  /// The states after every element of a whole sequence.
  std::vector<State> operator()(std::span<const Expression> xs) const;
  /// The same as one node, for elements that are the columns of a matrix. `backwards` reads from
  /// last to first: the state of a column depends on it and the columns after it. Shapes: xs
  /// {inputs, n}. Throws ShapeError unless xs fits.
  template <std::same_as<Expression> Matrix>
  States<State> operator()(const Matrix& xs) const {
    return along(xs);
  }
  /// The same from an initial state, such as that of an encoder.
  States<State> operator()(const Expression& xs, const State& before) const;
  States<State> backwards(const Expression& xs) const;

  static const Expression& output(const State& state) { return state.h; }

  unsigned hidden() const { return hidden_; }

 private:
  unsigned columns_of(const Expression& xs) const;
  States<State> along(const Expression& xs) const;

  unsigned hidden_;
  Parameter input_weights_, hidden_weights_, bias_;
  Recursion<State> along_;
};

}  // namespace dynet_like::nn
