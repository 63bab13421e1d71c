// DyNet's sig.h, for programs that include it: signatures of nodes, by which they are batched.
// Nothing has to be written for that here.
#pragma once

#include "dynet/expr.h"
