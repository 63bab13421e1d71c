// Residual: the connection around each part of a Transformer's layer, with its norm and dropout.
#pragma once

#include "dynet_like/ops/ops.h"
#include "nn/layer_norm.h"

namespace dynet_like::nn {

/// With `norm_first`, x + dropout(f(norm(x))) (Xiong et al. 2020), else norm(x + dropout(f(x)))
/// (Vaswani et al. 2017).
struct Residual {
  LayerNorm norm;
  float rate = 0;
  bool norm_first = true;

  template <class F>
  Expression operator()(const Expression& x, const F& f) const {
    if (norm_first) return x + dropout(f(norm(x)), rate);
    return norm(x + dropout(f(x), rate));
  }
};

}  // namespace dynet_like::nn
