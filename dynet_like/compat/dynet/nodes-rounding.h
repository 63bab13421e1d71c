// DyNet's nodes-rounding.h. Rounding, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct Round : detail::FunctionNode {
  explicit Round(bool straight_through)
      : FunctionNode(1, [=](const Arguments& xs) {
          return round(xs[0], detail::gradient_mode(straight_through));
        }) {}
};
struct Ceil : detail::FunctionNode {
  explicit Ceil(bool straight_through)
      : FunctionNode(1, [=](const Arguments& xs) {
          return ceil(xs[0], detail::gradient_mode(straight_through));
        }) {}
};
struct Floor : detail::FunctionNode {
  explicit Floor(bool straight_through)
      : FunctionNode(1, [=](const Arguments& xs) {
          return floor(xs[0], detail::gradient_mode(straight_through));
        }) {}
};

}  // namespace dynet
