// DyNet's cuda-matrix-multiply.h, for programs that include it: matrix products on GPUs. Everything
// is computed on the CPU here.
#pragma once

#include "dynet/tensor.h"
