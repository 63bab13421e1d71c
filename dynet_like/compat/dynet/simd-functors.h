// DyNet's simd-functors.h, for programs that include it: functors for Eigen's vectors, for its own
// kernels. They are not needed here.
#pragma once

#include "dynet/tensor.h"
