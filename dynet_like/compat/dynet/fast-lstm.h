// DyNet's fast-lstm.h: an LSTM with coupled gates that see no cells.
#pragma once

#include "dynet/cell-builder.h"

namespace dynet {

/// An LSTM as CoupledLSTMBuilder whose gates do not see cells: C_i and C_o, {hidden, 1}, are saved
/// and loaded and have no gradient, as in DyNet. Dropout is of the inputs of layers, drawn anew for
/// every step (Zaremba et al. 2014).
struct FastLSTMBuilder : detail::CoupledCells {
  FastLSTMBuilder() = default;
  explicit FastLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                           ParameterCollection& model)
      : CoupledCells(layers, input_dim, hidden_dim, model, "fast-lstm-builder", Peepholes::unread) {
  }
};

}  // namespace dynet
