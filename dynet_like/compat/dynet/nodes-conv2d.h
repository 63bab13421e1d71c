// DyNet's nodes-conv2d.h. conv2d, as node classes for add_function.
#pragma once

#include <vector>

#include "dynet/function-node.h"

namespace dynet {

struct Conv2D : detail::FunctionNode {
  explicit Conv2D(const std::vector<unsigned>& stride, bool is_valid = true)
      : FunctionNode(2, 3, [=](const Arguments& xs) {
          return xs.size() == 2 ? conv2d(xs[0], xs[1], stride, is_valid)
                                : conv2d(xs[0], xs[1], xs[2], stride, is_valid);
        }) {}
};

}  // namespace dynet
