// TiedLinear: a linear map to scores of words, with the vectors of an Embedding as its weights.
#pragma once

#include "nn/embedding.h"
#include "nn/linear.h"

namespace dynet_like::nn {

/// y = E' x + b, where E is the table of an Embedding with its rows as columns (Press and Wolf
/// 2017; Inan et al. 2017). The table is shared: its gradient is that of both uses. E' is made once
/// for all graphs of a minibatch. Shapes: {size} -> {rows}, {size, n} -> {rows, n}.
class TiedLinear {
 public:
  /// Adds its bias "b", zero at first, to a subcollection of `model`, if there is to be one.
  TiedLinear(ParameterCollection& model, const Embedding& embedding,
             const LinearOptions& options = {});

  /// Throws ShapeError unless x fits.
  Expression operator()(const Expression& x) const;

 private:
  LookupParameter table_;
  Parameter bias_;
};

}  // namespace dynet_like::nn
