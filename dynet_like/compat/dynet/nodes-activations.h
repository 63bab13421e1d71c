// DyNet's nodes-activations.h. Rectifiers and their like, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct Rectify : detail::UnaryNode<rectify> {};
struct LogisticSigmoid : detail::UnaryNode<logistic> {};
struct SoftSign : detail::UnaryNode<softsign> {};
/// lambda * elu(x, alpha). selu has fixed constants of its own.
struct ExponentialLinearUnit : detail::FunctionNode {
  explicit ExponentialLinearUnit(float lambda = 1.0f, float alpha = 1.0f)
      : FunctionNode(1, [=](const Arguments& xs) { return lambda * elu(xs[0], alpha); }) {}
};
struct SigmoidLinearUnit : detail::FunctionNode {
  explicit SigmoidLinearUnit(float beta = 1.0f)
      : FunctionNode(1, [=](const Arguments& xs) { return silu(xs[0], beta); }) {}
};

}  // namespace dynet
