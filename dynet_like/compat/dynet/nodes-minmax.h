// DyNet's nodes-minmax.h. Minimum and maximum, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct Min : detail::BinaryNode<min> {};
struct Max : detail::BinaryNode<max> {};
struct MinDimension : detail::FunctionNode {
  explicit MinDimension(unsigned d = 0)
      : FunctionNode(1, [=](const Arguments& xs) { return min_dim(xs[0], d); }) {}
};
struct MaxDimension : detail::FunctionNode {
  explicit MaxDimension(unsigned d = 0)
      : FunctionNode(1, [=](const Arguments& xs) { return max_dim(xs[0], d); }) {}
};

}  // namespace dynet
