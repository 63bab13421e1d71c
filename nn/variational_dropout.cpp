// VariationalDropout: draws and applies the mask.
#include "nn/variational_dropout.h"

#include <string>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/ops/ops.h"

namespace dynet_like::nn {

VariationalDropout::VariationalDropout(float rate) : rate_(rate) {
  if (!(rate >= 0 && rate < 1)) {
    throw UsageError("[VariationalDropout] need a rate of at least 0 and below 1; got " +
                     std::to_string(rate));
  }
}

VariationalDropout::Mask VariationalDropout::start(ComputationGraph& graph, unsigned size) const {
  Mask mask;
  if (rate_ > 0 && graph.trains()) {
    mask.factors_ = random_bernoulli(graph, {size}, 1 - rate_, 1 / (1 - rate_));
  }
  return mask;
}

Expression VariationalDropout::Mask::operator()(const Expression& x) const {
  if (factors_.empty()) return x;
  if (x.dim().rows() != factors_.dim().rows() || x.dim().ndims() > 2) {
    throw ShapeError("[VariationalDropout] need " + detail::counted(factors_.dim().rows(), "row") +
                     "; got " + to_string(x.dim()));
  }
  return cmult(x, factors_);
}

}  // namespace dynet_like::nn
