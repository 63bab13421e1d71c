// Activation: the nonlinearity of a layer, any elementwise function of expressions.
#pragma once

#include "dynet_like/graph/expression.h"
#include "dynet_like/ops/ops.h"

namespace dynet_like::nn {

/// `tanh`, `relu`, `gelu`, a function of your own, or a lambda that captures nothing.
using Activation = Expression (*)(const Expression&);

}  // namespace dynet_like::nn
