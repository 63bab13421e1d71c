// DyNet's nodes-maxpooling2d.h. maxpooling2d, as node classes for add_function.
#pragma once

#include <vector>

#include "dynet/function-node.h"

namespace dynet {

struct MaxPooling2D : detail::FunctionNode {
  MaxPooling2D(const std::vector<unsigned>& ksize, const std::vector<unsigned>& stride,
               bool is_valid = true)
      : FunctionNode(
            1, [=](const Arguments& xs) { return maxpooling2d(xs[0], ksize, stride, is_valid); }) {}
};

}  // namespace dynet
