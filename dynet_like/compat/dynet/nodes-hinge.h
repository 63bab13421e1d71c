// DyNet's nodes-hinge.h. Hinge losses, as node classes for add_function.
#pragma once

#include <vector>

#include "dynet/function-node.h"

namespace dynet {

struct Hinge : detail::FunctionNode {
  /// A class, one class per minibatch element, or a pointer to them.
  template <detail::Integers Index>
  explicit Hinge(const Index& index, real margin = 1.0f)
      : FunctionNode(
            1, [=](const Arguments& xs) { return hinge(xs[0], detail::integers(index), margin); }) {
  }
};
struct HingeDim : detail::FunctionNode {
  explicit HingeDim(const std::vector<unsigned>& indices, unsigned d = 0, real margin = 1.0f)
      : FunctionNode(1, [=](const Arguments& xs) { return hinge_dim(xs[0], indices, d, margin); }) {
  }
  explicit HingeDim(const std::vector<std::vector<unsigned>>& indices, unsigned d = 0,
                    real margin = 1.0f)
      : FunctionNode(1, [=](const Arguments& xs) { return hinge_dim(xs[0], indices, d, margin); }) {
  }
  explicit HingeDim(dynet_like::IntegersAt indices, unsigned d = 0, real margin = 1.0f)
      : FunctionNode(1, [=](const Arguments& xs) { return hinge_dim(xs[0], indices, d, margin); }) {
  }
};

}  // namespace dynet
