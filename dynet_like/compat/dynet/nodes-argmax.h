// DyNet's nodes-argmax.h. argmax, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

/// Works along the first dimension. Throws UsageError for another one.
struct Argmax : detail::FunctionNode {
  explicit Argmax(unsigned d = 0, bool straight_through = false)
      : FunctionNode(1, [=](const Arguments& xs) {
          if (d != 0) DYNET_LIKE_THROW(UsageError, "[Argmax] need dimension 0; got " << d);
          return argmax(xs[0], detail::gradient_mode(straight_through));
        }) {}
};

}  // namespace dynet
