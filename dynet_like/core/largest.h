// Where the largest elements of a tensor are.
#pragma once

#include <cstddef>
#include <vector>

#include "dynet_like/core/list_of.h"
#include "dynet_like/core/tensor.h"

namespace dynet_like {

// A NaN counts as larger than all numbers; of equal elements the first comes first.

/// The place of the largest of all elements, in column-major order. Throws ShapeError if there are
/// none.
std::size_t argmax(const Tensor& tensor);
/// Of some places, such as those of the actions that are allowed, the one with the largest element.
/// Throws ShapeError if there are none, or one is not there.
unsigned argmax(const Tensor& tensor, ListOf<unsigned> allowed);
/// The row of the largest element of every column, those of all minibatch elements one behind the
/// other: what a classifier predicts, from {classes}, {classes, positions} or a minibatch.
std::vector<unsigned> argmax_of_columns(const Tensor& tensor);
/// The rows of the k largest elements of every column, the largest first: k for the first column,
/// k for the second, ... Throws ShapeError unless a column has k elements.
std::vector<unsigned> top_k_of_columns(const Tensor& tensor, unsigned k);

/// Throws ShapeError, in the name of `user`, unless there is a place and all are in the tensor.
void check_places(const Tensor& tensor, ListOf<unsigned> places, const char* user);

}  // namespace dynet_like
