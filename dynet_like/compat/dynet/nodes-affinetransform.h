// DyNet's nodes-affinetransform.h. affine_transform, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct AffineTransform : detail::ListNode<affine_transform> {};

}  // namespace dynet
