// DyNet's nodes-flow.h. Nodes that pass values on, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct Identity : detail::FunctionNode {
  Identity() : FunctionNode(1, [](const Arguments& xs) { return xs[0]; }) {}
};
struct NoBackprop : detail::UnaryNode<nobackprop> {};
struct FlipGradient : detail::UnaryNode<flip_gradient> {};
struct ScaleGradient : detail::FunctionNode {
  explicit ScaleGradient(float factor = 1.0f)
      : FunctionNode(1, [=](const Arguments& xs) { return scale_gradient(xs[0], factor); }) {}
};
struct Reshape : detail::FunctionNode {
  explicit Reshape(const Dim& to)
      : FunctionNode(1, [=](const Arguments& xs) { return reshape(xs[0], to); }) {}
};

}  // namespace dynet
