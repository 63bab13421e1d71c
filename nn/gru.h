// GRU: a recurrent layer whose state is its output.
#pragma once

#include <concepts>
#include <span>
#include <vector>

#include "dynet_like/graph/recursion.h"
#include "nn/layer_options.h"

namespace dynet_like::nn {

/// Cho et al. (2014), with the reset gate applied after the product:
///   r = sigmoid(b_x_r + W_r x + b_h_r + U_r h);  z likewise
///   n = tanh(b_x_n + W_n x + r * (b_h_n + U_n h));  h' = (1 - z) * n + z * h
/// The rows of W, U, b_x and b_h are in the order r, z, n. W and U are drawn as Glorot and Bengio
/// (2010) propose, gate by gate; b_x and b_h are zero at first.
class GRU {
 public:
  /// The state after an element, which is also the output. Shapes: {hidden}.
  using State = Expression;
  static constexpr const char* kName = "gru";

  /// Adds its parameters "W", "U", "b_x" and "b_h" to a subcollection of `model`. Throws ShapeError
  /// for size 0.
  GRU(ParameterCollection& model, unsigned inputs, unsigned hidden,
      const LayerOptions& options = {});

  /// The state before the first element: zeros.
  State start(ComputationGraph& graph) const;
  /// The state after one more element. Shapes: h {hidden}, x {inputs}. Throws ShapeError unless
  /// they fit.
  State step(const State& h, const Expression& x) const;
  /// A step without an input: W x and b_x are left out of all three sums. Use it at inner nodes of
  /// a tree with words at its leaves, with h the sum of the children's states. Shapes: h {hidden}.
  State step_without_input(const State& h) const;
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

  static const Expression& output(const State& state) { return state; }

  unsigned hidden() const { return hidden_; }

 private:
  unsigned columns_of(const Expression& xs) const;
  States<State> along(const Expression& xs) const;

  unsigned hidden_;
  Parameter input_weights_, hidden_weights_, input_bias_, hidden_bias_;
  Recursion<State> along_;
};

}  // namespace dynet_like::nn
