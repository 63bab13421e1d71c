// DyNet's dynet-helper.h, for programs that include it: helpers of its nodes. They are not needed
// here.
#pragma once

#include "dynet/tensor.h"
