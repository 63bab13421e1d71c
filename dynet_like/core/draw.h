// Choosing at random as scores say.
#pragma once

#include <cstddef>

#include "dynet_like/core/list_of.h"
#include "dynet_like/core/random.h"
#include "dynet_like/core/tensor.h"

namespace dynet_like {

/// The place of an element, drawn from the softmax of all: place i with a probability that is
/// proportional to e to the power of element i. Takes one number from `random`. Throws ShapeError
/// if there are no elements, NumericError if one is NaN or infinity, or all are -infinity.
std::size_t draw_from_softmax(const Tensor& scores, Random& random);
/// The same among the elements at these places. Throws ShapeError if one is not there.
unsigned draw_from_softmax(const Tensor& scores, ListOf<unsigned> allowed, Random& random);

}  // namespace dynet_like
