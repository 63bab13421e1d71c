// DyNet's nodes-arith-scalar.h. Arithmetic with an expression of one number, as node classes for
// add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

/// A tensor and a number.
struct ScalarAdd : detail::BinaryNode < dynet_like::operator+> {};
/// A number and a tensor.
struct ScalarMultiply : detail::BinaryNode<cmult> {};
/// A tensor and a number.
struct ScalarQuotient : detail::BinaryNode<cdiv> {};

}  // namespace dynet
