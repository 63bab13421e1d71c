// TiedLinear: scores of words by a linear map whose weights are the vectors of an Embedding.
#pragma once

#include "nn/embedding.h"
#include "nn/linear.h"

namespace dynet_like::nn {

/// y = E' x + b, where column i of E is the vector of row i of an Embedding (Press and Wolf 2017;
/// Inan et al. 2017). The table is shared, so its gradient is the sum from both uses. E' is
/// computed once for all graphs of a minibatch. Shapes: {size} -> {rows}, {size, n} -> {rows, n}.
class TiedLinear {
 public:
  /// Adds its bias "b", initially zero, to a subcollection of `model`, unless `options.bias` is
  /// false.
  TiedLinear(ParameterCollection& model, const Embedding& embedding,
             const LinearOptions& options = {});

  /// Throws ShapeError unless x fits.
  Expression operator()(const Expression& x) const;

 private:
  LookupParameter table_;
  Parameter bias_;
};

}  // namespace dynet_like::nn
