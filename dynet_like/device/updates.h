// Passes over parameters and their gradients, with the best instruction set of this machine.
#pragma once

#include <cstddef>
#include <span>

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

/// The same with the largest v so far: top = max(top, v); w -= rate * m / (sqrt(top) + epsilon).
void amsgrad(DType dtype, void* w, void* m, void* v, void* top, const void* g, std::size_t n,
             const AdamConstants& constants, double rate, double scale);

/// With h = scale * g: s += h^2; w -= rate * h / sqrt(s + epsilon).
void adagrad(DType dtype, void* w, void* s, const void* g, std::size_t n, double epsilon,
             double rate, double scale);

/// With h = scale * g: s = rho s + (1 - rho) h^2; w -= rate * h / sqrt(s + epsilon).
void rmsprop(DType dtype, void* w, void* s, const void* g, std::size_t n, double rho,
             double epsilon, double rate, double scale);

/// With h = scale * g: s = rho s + (1 - rho) h^2; x = h * sqrt(d + epsilon) / sqrt(s + epsilon);
/// d = rho d + (1 - rho) x^2; w -= rate * x.
void adadelta(DType dtype, void* w, void* s, void* d, const void* g, std::size_t n, double rho,
              double epsilon, double rate, double scale);

/// v = momentum * v - rate * (scale * g), where a null g is zero; then, unless v is all zero,
/// w = w e^v / sum w e^v over all n elements, none of which may be negative, nor all of them zero.
void exponentiate(DType dtype, void* w, void* v, const void* g, std::size_t n, double momentum,
                  double rate, double scale);

/// x *= factor, with one factor after the other; elements stay in registers meanwhile.
void scale(DType dtype, void* x, std::size_t n, std::span<const double> factors);

/// mean += share * (x - mean).
void average(DType dtype, void* mean, const void* x, std::size_t n, double share);

/// Whether none of n numbers is infinite or NaN.
bool all_finite(DType dtype, const void* x, std::size_t n);

/// x_1^2 + x_2^2 + ... in double, in an order that depends on n and the instruction set alone. Not
/// finite if one of the numbers is not.
double sum_of_squares(DType dtype, const void* x, std::size_t n);

}  // namespace dynet_like::updates
