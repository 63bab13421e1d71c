// Random choice by scores.
#pragma once

#include <cstddef>

#include "dynet_like/core/list_of.h"
#include "dynet_like/core/random.h"
#include "dynet_like/core/tensor.h"

namespace dynet_like {

/// Draws the place of an element from the softmax of all elements: place i has a probability
/// proportional to e to the power of element i. Takes one number from `random`. Throws ShapeError
/// if there are no elements, NumericError if one is NaN or infinity or all are -infinity.
std::size_t draw_from_softmax(const Tensor& scores, Random& random);
/// The same among the elements at the places in `allowed`. Throws ShapeError if one does not exist.
unsigned draw_from_softmax(const Tensor& scores, ListOf<unsigned> allowed, Random& random);

}  // namespace dynet_like
