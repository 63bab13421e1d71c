// DyNet's graph.h, for programs that include it: an optimiser of graphs. It is not needed here.
#pragma once

#include "dynet/expr.h"
