// MLP: affine maps with a nonlinearity between them.
#pragma once

#include <string>
#include <vector>

#include "nn/activation.h"
#include "nn/linear.h"

namespace dynet_like::nn {

struct MLPOptions {
  /// The dropout rate of the activation's output, at least 0 and below 1.
  float dropout = 0;
  /// Applied to the outputs of all layers but the last.
  Activation activation = relu;
  std::string name = {};
};

/// A multilayer perceptron: Linear layers, with an activation after each but the last.
/// Shapes: {inputs} -> {outputs}, {inputs, n} -> {outputs, n}.
class MLP {
 public:
  /// Adds layers "layer_0", "layer_1", ... to a subcollection of `model`; `sizes` are the sizes of
  /// their outputs. Throws UsageError for no sizes, ShapeError for size 0.
  MLP(ParameterCollection& model, unsigned inputs, const std::vector<unsigned>& sizes,
      const MLPOptions& options = {});
  // Moving copies, so that a moved-from object still has its layers.
  MLP(const MLP&) = default;
  MLP& operator=(const MLP&) = default;

  /// Throws ShapeError unless x fits.
  Expression operator()(const Expression& x) const;

 private:
  std::vector<Linear> layers_;
  Activation activation_;
  float dropout_;
};

}  // namespace dynet_like::nn
