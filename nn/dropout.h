// Dropout: random zeros while a model is trained.
#pragma once

#include "dynet_like/graph/expression.h"

namespace dynet_like::nn {

/// In training, zero with probability `rate` and else x / (1 - rate); otherwise x itself, without a
/// node (Srivastava et al. 2014). The numbers follow from the graph's seed
/// (GraphOptions::seed).
class Dropout {
 public:
  /// Throws UsageError unless 0 <= rate < 1.
  explicit Dropout(float rate);

  /// Shapes: any. Throws UsageError in training if the graph has no seed and rate is not 0.
  Expression operator()(const Expression& x, bool training) const;

  float rate() const { return rate_; }

 private:
  float rate_;
};

}  // namespace dynet_like::nn
