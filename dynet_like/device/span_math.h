// Vectorised functions for users' kernels.
#pragma once

#include <span>

namespace dynet_like::ops {

// y[i] = f(x[i]) with the best instruction set of the machine, as accurate as the operations of the
// same names. The bits of an element depend neither on its position nor on the length. y may be x;
// otherwise they must not overlap. Throws UsageError for spans of different sizes.

void exp(std::span<const float> x, std::span<float> y);
void exp(std::span<const double> x, std::span<double> y);
/// The natural logarithm.
void log(std::span<const float> x, std::span<float> y);
void log(std::span<const double> x, std::span<double> y);
void tanh(std::span<const float> x, std::span<float> y);
void tanh(std::span<const double> x, std::span<double> y);
/// 1 / (1 + e^-x).
void sigmoid(std::span<const float> x, std::span<float> y);
void sigmoid(std::span<const double> x, std::span<double> y);

}  // namespace dynet_like::ops
