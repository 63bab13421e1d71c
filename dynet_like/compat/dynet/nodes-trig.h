// DyNet's nodes-trig.h. Trigonometric and hyperbolic functions, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct Sin : detail::UnaryNode<sin> {};
struct Cos : detail::UnaryNode<cos> {};
struct Tan : detail::UnaryNode<tan> {};
struct Asin : detail::UnaryNode<asin> {};
struct Acos : detail::UnaryNode<acos> {};
struct Atan : detail::UnaryNode<atan> {};
struct Sinh : detail::UnaryNode<sinh> {};
struct Cosh : detail::UnaryNode<cosh> {};
struct Tanh : detail::UnaryNode<tanh> {};
struct Asinh : detail::UnaryNode<asinh> {};
struct Acosh : detail::UnaryNode<acosh> {};
struct Atanh : detail::UnaryNode<atanh> {};

}  // namespace dynet
