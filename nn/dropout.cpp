// Dropout: which rates make sense, and when there is a node.
#include "nn/dropout.h"

#include <string>

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/ops.h"

namespace dynet_like::nn {

Dropout::Dropout(float rate) : rate_(rate) {
  if (!(rate >= 0 && rate < 1)) {
    throw UsageError("[Dropout] need a rate of at least 0 and below 1; got " +
                     std::to_string(rate));
  }
}

Expression Dropout::operator()(const Expression& x, bool training) const {
  return training ? dropout(x, rate_) : x;
}

}  // namespace dynet_like::nn
