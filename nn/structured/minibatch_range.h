// Views of minibatch elements, for models that have positions or spans as minibatch elements.
#pragma once

#include "dynet_like/graph/expression.h"
#include "dynet_like/ops/ops.h"

namespace dynet_like::nn {

/// Minibatch elements first to first + count - 1, without a copy. How many there are is data of the
/// nodes that read them, not their type: sentences of different lengths share batches. Throws
/// UsageError if there are none, or not so many.
inline Expression minibatch_range(const Expression& x, unsigned first, unsigned count) {
  Dim dim = x.dim();
  if (first == 0 && count == dim.bd) return x;
  const Expression columns = reshape(x, Dim({dim.batch_size(), dim.bd}));
  const Expression range = pick_range(columns, first, first + count, 1);
  dim.bd = count;
  return reshape(range, dim);
}

}  // namespace dynet_like::nn
