// DyNet's nodes-concat.h. Concatenations, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct Concatenate : detail::FunctionNode {
  explicit Concatenate(unsigned d = 0)
      : FunctionNode([=](const Arguments& xs) { return concatenate(xs, d); }) {}
};
struct ConcatenateToBatch : detail::ListNode<concatenate_to_batch> {};

}  // namespace dynet
