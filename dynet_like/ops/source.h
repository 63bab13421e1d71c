// The common parts of ops without inputs, whose attributes contain their shape.
#pragma once

#include "dynet_like/ops/op.h"

namespace dynet_like::ops {

/// An op whose attributes are [dtype, sizes...].
Op source(std::string_view name, std::string_view formula);

}  // namespace dynet_like::ops
