// DyNet's nodes-linalg.h. Linear algebra, as node classes for add_function.
#pragma once

#include <vector>

#include "dynet/function-node.h"

namespace dynet {

struct MatrixInverse : detail::UnaryNode<inverse> {};
struct LogDet : detail::UnaryNode<logdet> {};
struct TraceOfProduct : detail::BinaryNode<trace_of_product> {};
struct Transpose : detail::FunctionNode {
  explicit Transpose(const std::vector<unsigned>& dims = {1, 0})
      : FunctionNode(1, [=](const Arguments& xs) { return transpose(xs[0], dims); }) {}
};

}  // namespace dynet
