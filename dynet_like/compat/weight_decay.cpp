// L2WeightDecay.
#include "dynet/weight-decay.h"

#include <cmath>
#include <string>

#include "dynet_like/core/errors.h"

namespace dynet {

void L2WeightDecay::set_lambda(float lambda) {
  if (!(lambda >= 0 && lambda < 1)) {
    throw dynet_like::UsageError("[L2WeightDecay] need 0 <= lambda < 1; got " +
                                 std::to_string(lambda));
  }
  lambda_ = lambda;
}

void L2WeightDecay::update_weight_decay(unsigned updates) {
  factor_ *= std::pow(1 - lambda_, static_cast<float>(updates));
}

}  // namespace dynet
