// DyNet's deep-lstm.h: an LSTM with skip connections.
#pragma once

#include "dynet/cell-builder.h"

namespace dynet {

/// CoupledLSTMBuilder's layers. Each reads x, concatenated with the output of the layer below.
/// add_input and back return the outputs of all layers, concatenated (Graves 2013). The first step
/// of a sequence without an initial state has no C_o c'. Shapes: x {inputs} -> {layers hidden}.
struct DeepLSTMBuilder : detail::CoupledCells {
  DeepLSTMBuilder() = default;
  explicit DeepLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                           ParameterCollection& model)
      : CoupledCells(layers, input_dim, hidden_dim, model, "deep-lstm-builder",
                     Peepholes::after_first, input_dim) {}

  Expression back() const override {
    const Expression top = CoupledCells::back();
    return layers > 1 ? concatenate(get_h(state())) : top;
  }

 protected:
  Expression add_input_impl(int prev, const Expression& x) override {
    const Expression top = CoupledCells::add_input_impl(prev, x);
    return layers > 1 ? concatenate(h.back()) : top;
  }
  Expression input_of(unsigned, const Expression& x, const Expression& below) override {
    return concatenate({x, below});
  }
};

}  // namespace dynet
