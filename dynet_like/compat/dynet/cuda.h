// DyNet's cuda.h, for programs that include it: names of CUDA. Everything is computed on the CPU
// here.
#pragma once

#include "dynet/devices.h"
