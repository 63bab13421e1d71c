// DyNet's cudnn-ops.h, for programs that include it: calls of cuDNN. Everything is computed on the
// CPU here.
#pragma once

#include "dynet/tensor.h"
