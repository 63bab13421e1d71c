// DyNet's nodes-contract.h. Products of a tensor of three dimensions, as node classes for
// add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct InnerProduct3D_1D : detail::FunctionNode {
  InnerProduct3D_1D()
      : FunctionNode(2, 3, [](const Arguments& xs) {
          return xs.size() == 2 ? contract3d_1d(xs[0], xs[1]) : contract3d_1d(xs[0], xs[1], xs[2]);
        }) {}
};
struct InnerProduct3D_1D_1D : detail::FunctionNode {
  InnerProduct3D_1D_1D()
      : FunctionNode(3, 4, [](const Arguments& xs) {
          return xs.size() == 3 ? contract3d_1d_1d(xs[0], xs[1], xs[2])
                                : contract3d_1d_1d(xs[0], xs[1], xs[2], xs[3]);
        }) {}
};

}  // namespace dynet
