// DyNet's nodes-dropout.h. Dropout, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct Dropout : detail::FunctionNode {
  explicit Dropout(real p)
      : FunctionNode(1, [=](const Arguments& xs) { return dropout(xs[0], p); }) {}
};
struct DropoutDim : detail::FunctionNode {
  DropoutDim(unsigned d, real p)
      : FunctionNode(1, [=](const Arguments& xs) { return dropout_dim(xs[0], d, p); }) {}
};
struct DropoutBatch : detail::FunctionNode {
  explicit DropoutBatch(real p)
      : FunctionNode(1, [=](const Arguments& xs) { return dropout_batch(xs[0], p); }) {}
};
struct BlockDropout : detail::FunctionNode {
  explicit BlockDropout(real p)
      : FunctionNode(1, [=](const Arguments& xs) { return block_dropout(xs[0], p); }) {}
};

}  // namespace dynet
