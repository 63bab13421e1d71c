// Makes the facts of elementwise ops from their formulas.
#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>

#include "dynet_like/core/host_device.h"
#include "dynet_like/ops/normal_tail.h"
#include "dynet_like/ops/op.h"

namespace dynet_like::ops {

/// A list of types, for loops over all elementwise formulas.
template <class... Types>
struct TypeList {
  template <class Visitor>
  static constexpr void visit(Visitor&& visitor) {
    (visitor.template operator()<Types>(), ...);
  }
  static constexpr std::size_t size = sizeof...(Types);
};

// The formulas over plain numbers: GPUs run them, and tests compare kernels with them. The formulas
// of dynet_like/device use these functions, too.
namespace formulas {
using std::abs, std::exp, std::expm1, std::log, std::log1p, std::sqrt, std::tanh;
#define LANE DYNET_LIKE_HOST_DEVICE
template <class T>
LANE T sigmoid(T x) {
  return T(1) / (T(1) + exp(-x));
}
template <class T>
LANE T exp_of_negative(T x) {
  return exp(x);
}
template <class T>
LANE T square(T x) {
  return x * x;
}
template <class T>
LANE bool is_nan(T x) {
  return x != x;
}
template <class T>
LANE T select(bool condition, T a, T b) {
  return condition ? a : b;
}
template <class T>
LANE T fused(T a, T b, T c) {
  return std::fma(a, b, c);
}
template <class T>
LANE T min(T a, T b) {
  return select(a < b, a, b);
}
template <class T>
LANE T max(T a, T b) {
  return select(b < a, a, b);
}
#include "dynet_like/ops/elementwise_formulas.h"
#undef LANE
}  // namespace formulas

Dim broadcast_shape(std::string_view op, std::span<const Dim> inputs);
SharedGradient sum_if_same_shape(const Signature& type, unsigned input);
double elementwise_cost(const Signature& type);

// The gradient of an addend is dy itself. This lists the formulas for which that always holds.
template <class F>
inline constexpr bool is_sum = F::name == std::string_view("add");

template <class F>
constexpr Op elementwise_op() {
  Op op;
  op.name = F::name;
  op.formula = F::formula;
  op.min_inputs = op.max_inputs = F::inputs;
  op.numbers.reals = F::reals;
  op.gradient.needs = F::needs;
  op.gradient.is_derivative = F::is_derivative;
  op.shape = [](std::span<const Dim> in, std::span<const std::uint32_t>) {
    return broadcast_shape(F::name, in);
  };
  op.batching.by_column = [](unsigned, unsigned, std::span<const std::uint32_t>) { return true; };
  if constexpr (is_sum<F>) op.gradient.shared = sum_if_same_shape;
  op.cost = elementwise_cost;
  return op;
}

/// The op of an elementwise formula: `elementwise<formulas::Tanh>`.
template <class F>
inline constexpr Op elementwise = elementwise_op<F>();

}  // namespace dynet_like::ops

namespace dynet_like::detail {
using ops::elementwise, ops::TypeList;
}  // namespace dynet_like::detail
