// DyNet's nodes-similarities.h. Products and distances of two tensors, as node classes for
// add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct DotProduct : detail::BinaryNode<dot_product> {};
struct SquaredEuclideanDistance : detail::BinaryNode<squared_distance> {};
struct L1Distance : detail::BinaryNode<l1_distance> {};
struct HuberDistance : detail::FunctionNode {
  explicit HuberDistance(float c = 1.345f)
      : FunctionNode(2, [=](const Arguments& xs) { return huber_distance(xs[0], xs[1], c); }) {}
};

}  // namespace dynet
