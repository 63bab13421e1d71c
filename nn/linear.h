// Linear: a matrix product with a bias.
#pragma once

#include <string>

#include "dynet_like/graph/expression.h"
#include "nn/layer_options.h"

namespace dynet_like::nn {

struct LinearOptions {
  /// Whether to add a bias b.
  bool bias = true;
  std::string name = {};
};

/// y = W x + b. W is drawn as Glorot and Bengio (2010) propose; b is zero initially.
/// Shapes: {inputs} -> {outputs}, {inputs, n} -> {outputs, n}.
class Linear {
 public:
  /// Adds its parameters "W" and "b" to a subcollection of `model`. Throws ShapeError for size 0.
  Linear(ParameterCollection& model, unsigned inputs, unsigned outputs,
         const LinearOptions& options = {});

  /// Throws ShapeError unless x fits.
  Expression operator()(const Expression& x) const;

  const Parameter& weights() const { return weights_; }
  /// Empty if there is no bias.
  const Parameter& bias() const { return bias_; }

 private:
  Parameter weights_, bias_;
};

}  // namespace dynet_like::nn
