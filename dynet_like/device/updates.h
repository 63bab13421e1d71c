// Passes over parameters and their gradients, with the best instruction set of this machine.
#pragma once

#include <cstddef>

#include "dynet_like/core/dtype.h"

namespace dynet_like::updates {

/// w -= rate * (scale * g), rounded after every operation, for n elements; so are those below.
void descend(DType dtype, void* w, const void* g, std::size_t n, double rate, double scale);

/// v = momentum * v + rate * (scale * g); w -= v.
void descend_with_momentum(DType dtype, void* w, void* v, const void* g, std::size_t n,
                           double momentum, double rate, double scale);

struct AdamConstants {
  float beta_1, beta_2, epsilon;
};

/// With h = scale * g: m = b1 m + (1 - b1) h; v = b2 v + (1 - b2) h^2;
/// w -= rate * m / (sqrt(v) + epsilon).
void adam(DType dtype, void* w, void* m, void* v, const void* g, std::size_t n,
          const AdamConstants& constants, double rate, double scale);

/// Whether none of n numbers is infinite or NaN.
bool all_finite(DType dtype, const void* x, std::size_t n);

/// x_1^2 + x_2^2 + ... in double, in an order that depends on n and the instruction set alone. Not
/// finite if one of the numbers is not.
double sum_of_squares(DType dtype, const void* x, std::size_t n);

}  // namespace dynet_like::updates
