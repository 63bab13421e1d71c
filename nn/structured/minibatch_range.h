// Ranges of minibatch elements, for models with positions or spans as minibatch elements.
#pragma once

#include "dynet_like/graph/expression.h"
#include "dynet_like/ops/ops.h"

namespace dynet_like::nn {

/// A view of minibatch elements `first` to first + count - 1. `count` is not part of the type of
/// nodes that read it, so sentences of different lengths share batches. Throws UsageError if
/// `count` is 0, or there are not so many elements.
inline Expression minibatch_range(const Expression& x, unsigned first, unsigned count) {
  Dim dim = x.dim();
  if (first == 0 && count == dim.bd) return x;
  const Expression columns = reshape(x, Dim({dim.batch_size(), dim.bd}));
  const Expression range = pick_range(columns, first, first + count, 1);
  dim.bd = count;
  return reshape(range, dim);
}

}  // namespace dynet_like::nn
