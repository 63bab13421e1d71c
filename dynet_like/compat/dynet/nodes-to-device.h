// DyNet's nodes-to-device.h. to_device, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct ToDevice : detail::FunctionNode {
  explicit ToDevice(Device* device = default_device)
      : FunctionNode(1, [=](const Arguments& xs) { return to_device(xs[0], device); }) {}
};

}  // namespace dynet
