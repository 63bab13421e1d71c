// What layers check of their inputs, so that a message names the layer and not an op inside it.
#pragma once

#include "dynet_like/graph/expression.h"
#include "dynet_like/graph/structure.h"
#include "dynet_like/params/parameter.h"

namespace dynet_like::nn {

/// Throws ShapeError, `[layer] need inputs of size 3 for "/lstm/W"; got {4}`, unless x is a vector
/// {size}, with `or_columns` also a matrix of such columns. The parameter tells layers apart.
void check_input(const char* layer, const Expression& x, unsigned size,
                 const ParameterStorage& parameter, bool or_columns = false,
                 const char* what = "inputs");

/// Throws ShapeError unless the matrix has exactly the columns that the structure reads: with more
/// of them, it is another sample's.
void check_columns(const char* layer, const Structure& structure, const Expression& xs);

}  // namespace dynet_like::nn
