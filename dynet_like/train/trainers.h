// The trainers by name, with DyNet's default constants.
#pragma once

#include "dynet_like/train/trainer.h"

namespace dynet_like {

/// Stochastic gradient descent: w -= rate * g.
class SimpleSGDTrainer : public Trainer {
 public:
  explicit SimpleSGDTrainer(ParameterCollection collection, float learning_rate = 0.1f);
};

/// Gradient descent with momentum (Polyak 1964): v = momentum * v + rate * g; w -= v.
/// Throws UsageError unless 0 <= momentum < 1.
class MomentumSGDTrainer : public Trainer {
 public:
  explicit MomentumSGDTrainer(ParameterCollection collection, float learning_rate = 0.01f,
                              float momentum = 0.9f);
};

/// Adam (Kingma and Ba 2015), in the form of the end of its section 2, as DyNet has it:
/// m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
/// w -= rate * sqrt(1 - b2^t) / (1 - b1^t) * m / (sqrt(v) + epsilon) in update t = 1, 2, ...
/// Throws UsageError unless 0 <= b1, b2 < 1 and epsilon > 0.
class AdamTrainer : public Trainer {
 public:
  explicit AdamTrainer(ParameterCollection collection, float learning_rate = 0.001f,
                       float beta_1 = 0.9f, float beta_2 = 0.999f, float epsilon = 1e-8f);
};

}  // namespace dynet_like
