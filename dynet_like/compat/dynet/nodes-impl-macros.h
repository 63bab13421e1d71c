// DyNet's nodes-impl-macros.h, for programs that include it: macros for nodes of one's own: see
// docs/custom_ops.md for operations here.
#pragma once

#include "dynet/expr.h"
