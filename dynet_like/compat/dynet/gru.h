// DyNet's gru.h: gated recurrent units.
#pragma once

#include "dynet/rnn.h"

namespace dynet {

/// Cho et al. (2014), with the gates as in Chung et al. (2014):
///   z = logistic(b_z + X_z x + H_z h);  r = logistic(b_r + X_r x + H_r h)
///   n = tanh(b_h + X_h x + H_h (r * h));  h' = (1 - z) * h + z * n
/// Parameters of a layer: X_z, H_z, b_z, X_r, H_r, b_r, X_h, H_h, b_h. Dropout applies to the
/// inputs of layers and to the result of add_input, with a new mask in every step (Zaremba et al.
/// 2014).
struct GRUBuilder : detail::OutputBuilder {
  GRUBuilder() = default;
  explicit GRUBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                      ParameterCollection& model);

 protected:
  Expression add_input_impl(int prev, const Expression& x) override;
  Expression step(unsigned layer, const Expression& x, int prev) override;
};

}  // namespace dynet
