// DyNet's nodes-arith-sum.h. Sums, as node classes for add_function.
#pragma once

#include <vector>

#include "dynet/function-node.h"

namespace dynet {

struct Sum : detail::ListNode<sum> {};
struct Average : detail::ListNode<average> {};
struct SumElements : detail::UnaryNode<sum_elems> {};
struct SumBatches : detail::UnaryNode<sum_batches> {};
struct AddVectorToAllColumns : detail::BinaryNode<colwise_add> {};
struct SumDimension : detail::FunctionNode {
  explicit SumDimension(const std::vector<unsigned>& dims, bool b = false)
      : FunctionNode(1, [=](const Arguments& xs) { return sum_dim(xs[0], dims, b); }) {}
};
struct CumulativeSum : detail::FunctionNode {
  explicit CumulativeSum(unsigned d)
      : FunctionNode(1, [=](const Arguments& xs) { return cumsum(xs[0], d); }) {}
};

}  // namespace dynet
