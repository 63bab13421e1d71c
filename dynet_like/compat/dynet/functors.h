// DyNet's functors.h, for programs that include it: functors over single numbers, for its own
// kernels. They are not needed here.
#pragma once

#include "dynet/tensor.h"
