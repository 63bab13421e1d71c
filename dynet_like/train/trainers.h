// The trainers by name, with DyNet's default constants.
#pragma once

#include "dynet_like/train/trainer.h"

namespace dynet_like {

// All constructors throw UsageError unless the learning rate and epsilon are finite and the rate is
// at least 0.

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

/// Adagrad (Duchi et al. 2011): s += g^2; w -= rate * g / sqrt(s + epsilon).
/// Throws UsageError unless epsilon > 0.
class AdagradTrainer : public Trainer {
 public:
  explicit AdagradTrainer(ParameterCollection collection, float learning_rate = 0.1f,
                          float epsilon = 1e-20f);
};

/// Adadelta (Zeiler 2012): s = rho s + (1 - rho) g^2; x = g sqrt(d + epsilon) / sqrt(s + epsilon);
/// d = rho d + (1 - rho) x^2; w -= rate * x, where the rate is 1 by default. Throws UsageError
/// unless epsilon > 0 and 0 <= rho < 1.
class AdadeltaTrainer : public Trainer {
 public:
  explicit AdadeltaTrainer(ParameterCollection collection, float epsilon = 1e-6f,
                           float rho = 0.95f);
};

/// RMSProp (Tieleman and Hinton 2012), for each element by itself:
/// s = rho s + (1 - rho) g^2; w -= rate * g / sqrt(s + epsilon).
/// Throws UsageError unless epsilon > 0 and 0 <= rho < 1.
class RMSPropTrainer : public Trainer {
 public:
  explicit RMSPropTrainer(ParameterCollection collection, float learning_rate = 0.1f,
                          float epsilon = 1e-20f, float rho = 0.95f);
};

/// Adam (Kingma and Ba 2015), in the form at the end of its section 2, as in DyNet:
/// m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
/// w -= rate * sqrt(1 - b2^t) / (1 - b1^t) * m / (sqrt(v) + epsilon) in update t = 1, 2, ...
/// Throws UsageError unless 0 <= b1, b2 < 1 and epsilon > 0.
class AdamTrainer : public Trainer {
 public:
  explicit AdamTrainer(ParameterCollection collection, float learning_rate = 0.001f,
                       float beta_1 = 0.9f, float beta_2 = 0.999f, float epsilon = 1e-8f);
};

/// AdamW (Loshchilov and Hutter 2019): w = (1 - rate * weight_decay) w - the change of AdamTrainer.
/// Throws UsageError as AdamTrainer does, and in update() unless 0 <= weight_decay < 1 and
/// 0 <= rate * weight_decay < 1.
class AdamWTrainer : public Trainer {
 public:
  explicit AdamWTrainer(ParameterCollection collection, float learning_rate = 0.001f,
                        float weight_decay = 0.01f, float beta_1 = 0.9f, float beta_2 = 0.999f,
                        float epsilon = 1e-8f);
};

/// AMSGrad (Reddi et al. 2018): Adam with the largest v so far instead of v, with AdamTrainer's
/// bias correction. Throws UsageError unless 0 <= b1, b2 < 1 and epsilon > 0.
class AmsgradTrainer : public Trainer {
 public:
  explicit AmsgradTrainer(ParameterCollection collection, float learning_rate = 0.001f,
                          float beta_1 = 0.9f, float beta_2 = 0.999f, float epsilon = 1e-8f);
};

}  // namespace dynet_like
