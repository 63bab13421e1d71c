// DyNet's nodes-const.h. Constants, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct Constant : detail::SourceNode {
  Constant(const Dim& d, float value)
      : SourceNode([=](ComputationGraph& graph) { return constant(graph, d, value); }) {}
};

}  // namespace dynet
