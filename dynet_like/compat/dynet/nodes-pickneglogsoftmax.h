// DyNet's nodes-pickneglogsoftmax.h. pickneglogsoftmax, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct PickNegLogSoftmax : detail::FunctionNode {
  /// A class, one class per minibatch element, or a pointer to them.
  template <detail::Integers Index>
  explicit PickNegLogSoftmax(const Index& v)
      : FunctionNode(
            1, [=](const Arguments& xs) { return pickneglogsoftmax(xs[0], detail::integers(v)); }) {
  }
};

}  // namespace dynet
