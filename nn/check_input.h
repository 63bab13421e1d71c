// Checks of layers' inputs, so that messages name the layer and not an op inside it.
#pragma once

#include "dynet_like/graph/expression.h"
#include "dynet_like/graph/structure.h"
#include "dynet_like/params/parameter.h"

namespace dynet_like::nn {

/// Throws ShapeError, `[layer] need inputs of size 3 for "/lstm/W"; got {4}`, unless x is a vector
/// {size}, or, with `or_columns`, a matrix of such columns. The parameter's name tells which layer
/// it is.
void check_input(const char* layer, const Expression& x, unsigned size,
                 const ParameterStorage& parameter, bool or_columns = false,
                 const char* what = "inputs");

/// The number of columns of a matrix {size, n}. Throws as check_input, and for a minibatch.
unsigned checked_columns(const char* layer, const Expression& xs, unsigned size,
                         const ParameterStorage& parameter);
/// Throws ShapeError unless the matrix {size, n} has exactly the columns that the structure reads:
/// one with more columns must belong to another sample.
void check_columns(const char* layer, const Structure& structure, const Expression& xs,
                   unsigned size, const ParameterStorage& parameter);

}  // namespace dynet_like::nn
