// DyNet's exec.h, for programs that include it: engines, which run a graph. A graph runs itself
// here.
#pragma once

#include "dynet/expr.h"
