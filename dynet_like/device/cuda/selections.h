// Kernels that choose elements along a dimension; part of dimension_kernels().
#pragma once

#include "dynet_like/device/kernel.h"

namespace dynet_like::cuda {

Kernels select_kernels();
Kernels kmax_pooling_kernels();

}  // namespace dynet_like::cuda
