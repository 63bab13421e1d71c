// DyNet's saxe-init.h, for programs that include it: orthonormal initial values. They are in
// param-init.h.
#pragma once

#include "dynet/param-init.h"
