// DyNet's nodes.h, which older programs include for the functions of expr.h. There are no classes
// of nodes here: see docs/migration.md for operations of one's own.
#pragma once

#include "dynet/expr.h"
