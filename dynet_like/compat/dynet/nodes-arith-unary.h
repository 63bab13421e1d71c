// DyNet's nodes-arith-unary.h. Functions of one argument, element by element, as node classes for
// add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct Negate : detail::UnaryNode<(dynet_like::operator-)> {};
struct Sqrt : detail::UnaryNode<sqrt> {};
struct Abs : detail::UnaryNode<abs> {};
struct Square : detail::UnaryNode<square> {};
struct Cube : detail::UnaryNode<cube> {};
struct Exp : detail::UnaryNode<exp> {};
struct Log : detail::UnaryNode<log> {};
struct LogSigmoid : detail::UnaryNode<log_sigmoid> {};
struct LogGamma : detail::UnaryNode<lgamma> {};
struct Erf : detail::UnaryNode<erf> {};

}  // namespace dynet
