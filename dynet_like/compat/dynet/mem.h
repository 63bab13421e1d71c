// DyNet's mem.h, for programs that include it: allocators. Memory grows as it must here.
#pragma once

#include "dynet/devices.h"
