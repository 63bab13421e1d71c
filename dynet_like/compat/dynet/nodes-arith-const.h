// DyNet's nodes-arith-const.h. Arithmetic with a number, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct ConstantPlusX : detail::FunctionNode {
  explicit ConstantPlusX(real c)
      : FunctionNode(1, [=](const Arguments& xs) { return c + xs[0]; }) {}
};
struct ConstantMinusX : detail::FunctionNode {
  explicit ConstantMinusX(real c)
      : FunctionNode(1, [=](const Arguments& xs) { return c - xs[0]; }) {}
};
struct ConstScalarMultiply : detail::FunctionNode {
  explicit ConstScalarMultiply(float c)
      : FunctionNode(1, [=](const Arguments& xs) { return xs[0] * c; }) {}
};

}  // namespace dynet
