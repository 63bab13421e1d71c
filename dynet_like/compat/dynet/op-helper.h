// DyNet's op-helper.h, for programs that include it: helpers of its convolutions. They are not
// needed here.
#pragma once

#include "dynet/tensor.h"
