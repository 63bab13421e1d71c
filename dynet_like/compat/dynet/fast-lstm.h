// DyNet's fast-lstm.h: an LSTM whose gates see their own cell only.
#pragma once

#include "dynet/cell-builder.h"

namespace dynet {

/// An LSTM as CoupledLSTMBuilder with C_i and C_o diagonal, {hidden, 1}, so that a step is faster.
/// Dropout is of the inputs of layers, drawn anew for every step (Zaremba et al. 2014).
struct FastLSTMBuilder : detail::CoupledCells {
  FastLSTMBuilder() = default;
  explicit FastLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                           ParameterCollection& model)
      : CoupledCells(layers, input_dim, hidden_dim, model, "fast-lstm-builder", 1) {}

 protected:
  Expression with_peephole(std::vector<Expression> terms, const Expression& weights,
                           const Expression& cell) const override {
    return affine_transform(terms) + cmult(reshape(weights, {hid}), cell);
  }
};

}  // namespace dynet
