// DyNet's nodes-arith-cwise.h. Arithmetic, element by element, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct CwiseSum : detail::BinaryNode < dynet_like::operator+> {};
struct CwiseMultiply : detail::BinaryNode<cmult> {};
struct CwiseQuotient : detail::BinaryNode<cdiv> {};
struct Pow : detail::BinaryNode<pow> {};

}  // namespace dynet
