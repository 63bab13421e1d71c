// DyNet's except.h: what is thrown here.
#pragma once

#include "dynet_like/core/errors.h"

namespace dynet {

using dynet_like::DeviceError;
using dynet_like::FileError;
using dynet_like::NumericError;
using dynet_like::ShapeError;
using dynet_like::UsageError;

}  // namespace dynet
