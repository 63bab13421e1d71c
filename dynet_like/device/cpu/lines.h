// Loops over the lines of an item: a line is n elements with a constant stride.
#pragma once

#include <cmath>

#include "dynet_like/device/kernel.h"

namespace dynet_like::detail::cpu {

/// Calls f(index of the line's first element, number of the line) for every line of an item.
template <class F>
void for_lines(const Axis& axis, const F& f) {
  for (std::size_t o = 0; o < axis.outer; ++o) {
    for (std::size_t i = 0; i < axis.inner; ++i) f(o * axis.n * axis.inner + i, o * axis.inner + i);
  }
}

inline Axis axis_of(const Signature& type) { return Axis(type.inputs[0], type.attributes[0]); }

template <class E>
void put(E result, E* to, bool add) {
  *to = add ? *to + result : result;
}

/// Calls f(i, dx, add) for the items i whose gradient of input j is wanted.
template <class E, class F>
void for_gradients(const BackwardCall& call, std::size_t j, const F& f) {
  for (std::size_t i = 0; call.dx[j].wanted() && i < call.n; ++i) {
    if (E* const dx = call.dx[j].at<E>(i); dx != nullptr) f(i, dx, call.dx[j].add[i] != 0);
  }
}

/// Whether a is larger than b. A NaN counts as larger than every number.
template <class E>
bool is_larger(E a, E b) {
  return b < a || (std::isnan(a) && !std::isnan(b));
}

/// The place of the largest element, the first of several. A NaN counts as larger than all numbers.
template <class E>
std::size_t place_of_largest(const E* line, const Axis& axis) {
  std::size_t best = 0;
  for (std::size_t k = 1; k < axis.n; ++k) {
    if (is_larger(line[k * axis.inner], line[best * axis.inner])) best = k;
  }
  return best;
}

}  // namespace dynet_like::detail::cpu
