// Where the largest elements of a tensor are.
#pragma once

#include <cstddef>
#include <vector>

#include "dynet_like/core/list_of.h"
#include "dynet_like/core/tensor.h"

namespace dynet_like {

// A NaN counts as larger than every number. Of equal elements the first one comes first.

/// The place of the largest element, in column-major order. Throws ShapeError for an empty tensor.
std::size_t argmax(const Tensor& tensor);
/// The one of the places in `allowed`, such as those of permitted actions, with the largest
/// element. Throws ShapeError if `allowed` is empty or a place does not exist.
unsigned argmax(const Tensor& tensor, ListOf<unsigned> allowed);
/// The row of the largest element of every column, for all minibatch elements one after the other:
/// what a classifier predicts from {classes}, {classes, positions} or a minibatch.
std::vector<unsigned> argmax_of_columns(const Tensor& tensor);
/// The rows of the k largest elements of every column, the largest first: k rows for the first
/// column, then k for the second, ... Throws ShapeError if a column has fewer than k elements.
std::vector<unsigned> top_k_of_columns(const Tensor& tensor, unsigned k);

/// Throws ShapeError, with `user` in the message, if there is no place or one is not in the tensor.
void check_places(const Tensor& tensor, ListOf<unsigned> places, const char* user);

}  // namespace dynet_like
