// DyNet's fast-lstm.h: an LSTM with coupled gates that do not read cells.
#pragma once

#include "dynet/cell-builder.h"

namespace dynet {

/// CoupledLSTMBuilder's LSTM, but its gates do not read cells: C_i and C_o, {hidden, 1}, are saved
/// and loaded but have no gradient, as in DyNet. Dropout applies to the inputs of layers, with a
/// new mask in every step (Zaremba et al. 2014).
struct FastLSTMBuilder : detail::CoupledCells {
  FastLSTMBuilder() = default;
  explicit FastLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                           ParameterCollection& model)
      : CoupledCells(layers, input_dim, hidden_dim, model, "fast-lstm-builder", Peepholes::unread) {
  }
};

}  // namespace dynet
