// DyNet's nodes-moments.h. Moments and deviations, as node classes for add_function.
#pragma once

#include <vector>

#include "dynet/function-node.h"

namespace dynet {

struct MomentElements : detail::FunctionNode {
  explicit MomentElements(unsigned r)
      : FunctionNode(1, [=](const Arguments& xs) { return moment_elems(xs[0], r); }) {}
};
struct MomentBatches : detail::FunctionNode {
  explicit MomentBatches(unsigned r)
      : FunctionNode(1, [=](const Arguments& xs) { return moment_batches(xs[0], r); }) {}
};
struct MomentDimension : detail::FunctionNode {
  MomentDimension(const std::vector<unsigned>& dims, unsigned r, bool b = false, unsigned n = 0)
      : FunctionNode(1, [=](const Arguments& xs) { return moment_dim(xs[0], dims, r, b, n); }) {}
};
struct StdElements : detail::UnaryNode<std_elems> {};
struct StdBatches : detail::UnaryNode<std_batches> {};
struct StdDimension : detail::FunctionNode {
  explicit StdDimension(const std::vector<unsigned>& dims, bool b = false, unsigned n = 0)
      : FunctionNode(1, [=](const Arguments& xs) { return std_dim(xs[0], dims, b, n); }) {}
};

}  // namespace dynet
