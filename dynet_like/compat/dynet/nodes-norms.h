// DyNet's nodes-norms.h. Norms, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct SquaredNorm : detail::UnaryNode<squared_norm> {};
struct L2Norm : detail::UnaryNode<l2_norm> {};

}  // namespace dynet
