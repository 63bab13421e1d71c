// DyNet's gpu-kernels.h, for programs that include it: kernels for GPUs. Everything is computed on
// the CPU here.
#pragma once

#include "dynet/tensor.h"
