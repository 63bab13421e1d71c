// DyNet's grad-check.h: gradients against differences of values.
#pragma once

#include "dynet/dynet.h"
#include "dynet/model.h"

namespace dynet {

/// Whether the gradients of all parameters of a collection, and of the rows of tables that the
/// expression uses, are its slopes: central differences, as wide as DyNet's, that are off by at
/// most 0.01, or by 1 %. Of a minibatch, those of the sum. `verbosity` 1 prints what is wrong on
/// standard error, 2 all numbers. The expression must not be random. Afterwards the parameters have
/// their values again, and the gradients of this expression alone.
bool check_grad(ParameterCollection& m, Expression& expr, int verbosity = 1);

}  // namespace dynet
