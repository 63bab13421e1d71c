// DyNet's param-nodes.h, for programs that include it: nodes of inputs and parameters. Functions of
// expr.h make them here.
#pragma once

#include "dynet/expr.h"
