// Highway: layers that pass a part of their input on unchanged.
#pragma once

#include <string>
#include <vector>

#include "nn/activation.h"
#include "nn/layer_options.h"

namespace dynet_like::nn {

struct HighwayOptions {
  unsigned layers = 1;
  Activation activation = relu;
  std::string name = {};
};

/// Srivastava, Greff and Schmidhuber (2015), equation 3, once per layer:
///   t = sigmoid(b_t + W_t x);  y = t * activation(b_h + W_h x) + (1 - t) * x
/// The rows of W and b are in the order t, h. W is drawn as Glorot and Bengio (2010) propose, block
/// by block. Initially b is -1 for t, so that most of the input is passed on, and 0 for h.
/// Shapes: {size} -> {size}, {size, n} -> {size, n}.
class Highway {
 public:
  /// Adds its parameters "W" and "b" ("W_1" and "b_1" for a second layer, and so on) to a
  /// subcollection of `model`. Throws UsageError for no layers, ShapeError for size 0.
  Highway(ParameterCollection& model, unsigned size, const HighwayOptions& options = {});

  // Moving copies, so that a moved-from object still has its layers.
  Highway(const Highway&) = default;
  Highway& operator=(const Highway&) = default;

  /// Throws ShapeError unless x fits.
  Expression operator()(const Expression& x) const;

 private:
  struct Layer {
    Parameter weights, bias;
  };

  unsigned size_;
  std::vector<Layer> layers_;
  Activation activation_;
};

}  // namespace dynet_like::nn
