// DyNet's tensor-eigen.h, for programs that include it: views of tensors as Eigen's types: see
// docs/migration.md for what to use.
#pragma once

#include "dynet/tensor.h"
