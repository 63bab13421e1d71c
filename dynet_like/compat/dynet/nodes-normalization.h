// DyNet's nodes-normalization.h. weight_norm, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct WeightNormalization : detail::BinaryNode<weight_norm> {};

}  // namespace dynet
