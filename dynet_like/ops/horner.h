// Polynomials over plain numbers.
#pragma once

#include "dynet_like/core/host_device.h"

namespace dynet_like::ops::formulas {

/// first + second x + ... by Horner's rule, rounded after every operation.
template <class T>
DYNET_LIKE_HOST_DEVICE T polynomial(T, T last) {
  return last;
}
template <class T, class... More>
DYNET_LIKE_HOST_DEVICE T polynomial(T x, T first, T second, More... more) {
  return first + x * polynomial(x, second, more...);
}

}  // namespace dynet_like::ops::formulas
