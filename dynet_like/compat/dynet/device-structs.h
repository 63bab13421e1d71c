// DyNet's device-structs.h, for programs that include it: sizes of memory pools. Memory grows as it
// must here.
#pragma once

#include "dynet/devices.h"
