// DyNet's dim.h: the library's own type.
#pragma once

#include "dynet_like/core/dim.h"

namespace dynet {

using dynet_like::Dim;

}  // namespace dynet
