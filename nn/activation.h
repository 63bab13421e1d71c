// Activation: the nonlinearity of a layer, any elementwise function of expressions.
#pragma once

#include "dynet_like/graph/expression.h"
#include "dynet_like/ops/ops.h"

namespace dynet_like::nn {

/// `tanh`, `rectify`, `gelu`, a function of your own, or a lambda that captures nothing.
using Activation = Expression (*)(const Expression&);

/// x times the probability that a standard normal number is below x (Hendrycks and Gimpel 2016):
/// x (1 + erf(x / sqrt(2))) / 2. Shapes: any.
Expression gelu(const Expression& x);

}  // namespace dynet_like::nn
