// RMSNorm: scales every column to a root mean square of 1, then by a factor per row.
#pragma once

#include <string>

#include "dynet_like/graph/expression.h"
#include "nn/layer_options.h"

namespace dynet_like::nn {

struct RMSNormOptions {
  /// Added to the mean of the squares. Models for which others chose one, such as 1e-6, need it.
  float epsilon = 0;
  std::string name = {};
};

/// g * x / sqrt(mean(x^2) + epsilon), for every column separately (Zhang and Sennrich 2019);
/// initially g is 1. Shapes: {size} -> {size}, {size, n} -> {size, n}.
class RMSNorm {
 public:
  /// Adds its parameter "g" to a subcollection of `model`. Throws ShapeError for size 0.
  RMSNorm(ParameterCollection& model, unsigned size, const RMSNormOptions& options = {});

  /// Throws ShapeError unless x fits, UsageError unless epsilon is at least 0.
  Expression operator()(const Expression& x) const;

 private:
  Parameter gain_;
  float epsilon_;
};

}  // namespace dynet_like::nn
