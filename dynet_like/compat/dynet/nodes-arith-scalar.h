// DyNet's nodes-arith-scalar.h. Arithmetic with an expression of one number, as node classes for
// add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

/// Of a tensor and a number.
struct ScalarAdd : detail::BinaryNode < dynet_like::operator+> {};
/// Of a number and a tensor.
struct ScalarMultiply : detail::BinaryNode<cmult> {};
/// Of a tensor and a number.
struct ScalarQuotient : detail::BinaryNode<cdiv> {};

}  // namespace dynet
