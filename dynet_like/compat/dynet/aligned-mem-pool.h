// DyNet's aligned-mem-pool.h, for programs that include it: memory pools. Memory grows as it must
// here.
#pragma once

#include "dynet/devices.h"
