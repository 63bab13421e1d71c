// DyNet's nodes-logsumexp.h. logsumexp, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct LogSumExp : detail::ListNode<logsumexp> {};
struct LogSumExpDimension : detail::FunctionNode {
  explicit LogSumExpDimension(unsigned d = 0)
      : FunctionNode(1, [=](const Arguments& xs) { return logsumexp_dim(xs[0], d); }) {}
};

}  // namespace dynet
