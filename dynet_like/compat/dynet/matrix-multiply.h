// DyNet's matrix-multiply.h, for programs that include it: matrix products of Eigen's views.
// Products are operations of expr.h here.
#pragma once

#include "dynet/tensor.h"
