// LayerNorm: normalises every column to mean 0 and deviation 1, then scales and shifts it.
#pragma once

#include "dynet_like/graph/expression.h"
#include "nn/layer_options.h"

namespace dynet_like::nn {

/// g * (x - mean) / deviation + b, for every column separately (Ba et al. 2016); initially g is 1
/// and b is 0. Shapes: {size} -> {size}, {size, n} -> {size, n}.
class LayerNorm {
 public:
  /// Adds its parameters "g" and "b" to a subcollection of `model`. Throws ShapeError for size 0.
  LayerNorm(ParameterCollection& model, unsigned size, const LayerOptions& options = {});

  /// Throws ShapeError unless x fits.
  Expression operator()(const Expression& x) const;

 private:
  Parameter gain_, bias_;
};

}  // namespace dynet_like::nn
