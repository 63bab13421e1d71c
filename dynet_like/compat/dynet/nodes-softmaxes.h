// DyNet's nodes-softmaxes.h. Softmax and its relatives, as node classes for add_function.
#pragma once

#include <vector>

#include "dynet/function-node.h"

namespace dynet {

struct Softmax : detail::FunctionNode {
  explicit Softmax(unsigned d = 0)
      : FunctionNode(1, [=](const Arguments& xs) { return softmax(xs[0], d); }) {}
};
struct LogSoftmax : detail::FunctionNode {
  LogSoftmax() : FunctionNode(1, [](const Arguments& xs) { return log_softmax(xs[0]); }) {}
};
struct RestrictedLogSoftmax : detail::FunctionNode {
  explicit RestrictedLogSoftmax(const std::vector<unsigned>& classes)
      : FunctionNode(1, [=](const Arguments& xs) { return log_softmax(xs[0], classes); }) {}
};
struct Sparsemax : detail::UnaryNode<sparsemax> {};
struct SparsemaxLoss : detail::FunctionNode {
  template <detail::Integers Target>
  explicit SparsemaxLoss(const Target& target)
      : FunctionNode(1, [=](const Arguments& xs) {
          return sparsemax_loss(xs[0], detail::integers(target));
        }) {}
};
struct ConstrainedSoftmax : detail::BinaryNode<constrained_softmax> {};

}  // namespace dynet
