// Vectorised functions for kernels of one's own.
#pragma once

#include <span>

namespace dynet_like::ops {

// y[i] = f(x[i]) by the best instruction set of the machine, as accurate as the operations of these
// names. An element has the same bits wherever it stands, in spans of any length. y may be x; else
// they must not overlap. Spans of different sizes throw UsageError.

void exp(std::span<const float> x, std::span<float> y);
void exp(std::span<const double> x, std::span<double> y);
/// The natural logarithm.
void log(std::span<const float> x, std::span<float> y);
void log(std::span<const double> x, std::span<double> y);
void tanh(std::span<const float> x, std::span<float> y);
void tanh(std::span<const double> x, std::span<double> y);
/// 1 / (1 + e^-x).
void logistic(std::span<const float> x, std::span<float> y);
void logistic(std::span<const double> x, std::span<double> y);

}  // namespace dynet_like::ops
