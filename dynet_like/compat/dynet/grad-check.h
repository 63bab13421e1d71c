// DyNet's grad-check.h: compares gradients with differences of values.
#pragma once

#include "dynet/dynet.h"
#include "dynet/model.h"

namespace dynet {

/// Compares the gradients of all parameters of a collection, and of the rows of tables that the
/// expression uses, with central differences of DyNet's width. They may differ by at most 0.01, or
/// by 1 %. For a minibatch, it checks the sum. `verbosity` 1 prints wrong gradients to standard
/// error, 2 prints all. The expression must not be random. Afterwards the parameters have their old
/// values, and only the gradients of this expression.
bool check_grad(ParameterCollection& m, Expression& expr, int verbosity = 1);

}  // namespace dynet
