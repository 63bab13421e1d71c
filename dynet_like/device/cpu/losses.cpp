// Kernels of losses: hinge loss, and Poisson loss of a count.
#include <cmath>
#include <utility>

#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/lines.h"
#include "dynet_like/ops/special_formulas.h"

namespace dynet_like::detail {

using namespace cpu;

namespace {

// For every line with chosen element i: calls f(k, m - x[i] + x[k]) for all other k, then
// line_end(line, i, y).
template <class E, class F, class End>
void for_margins(const Axis& axis, const E* x, const std::uint32_t* chosen, E margin, const F& f,
                 const End& line_end) {
  for_lines(axis, [&](std::size_t line, std::size_t y) {
    const std::size_t best = line + chosen[y] * axis.inner;
    for (std::size_t k = 0; k < axis.n; ++k) {
      const std::size_t at = line + k * axis.inner;
      if (at != best) f(at, margin - x[best] + x[at]);
    }
    line_end(best, y);
  });
}

template <class E>
void hinge_forward(const ForwardCall& call) {
  const Axis axis = axis_of(*call.type);
  for (std::size_t i = 0; i < call.n; ++i) {
    E* const out = call.out.at<E>(i);
    E sum = 0;
    for_margins(
        axis, call.in[0].at<E>(i), call.integers + i * call.type->integers,
        static_cast<const E*>(call.reals)[i],
        [&](std::size_t, E loss) { sum += loss < 0 ? E(0) : loss; },
        [&](std::size_t, std::size_t y) { out[y] = std::exchange(sum, E(0)); });
  }
}
template <class E>
void hinge_backward(const BackwardCall& call) {
  const Axis axis = axis_of(*call.type);
  E* losses = call.workspace->elements<E>(call.type->inputs[0].size());
  for_gradients<E>(call, 0, [&](std::size_t i, E* dx, bool add) {
    const E* dy = call.dy.at<E>(i);
    E violations = 0;
    for_margins(
        axis, call.in[0].at<E>(i), call.integers + i * call.type->integers,
        static_cast<const E*>(call.reals)[i],
        [&](std::size_t at, E loss) {
          losses[at] = loss > 0 ? E(1) : E(0);
          violations += losses[at];
        },
        [&](std::size_t best, std::size_t) { losses[best] = -std::exchange(violations, E(0)); });
    for_lines(axis, [&](std::size_t line, std::size_t y) {
      for (std::size_t k = 0; k < axis.n; ++k) {
        const std::size_t at = line + k * axis.inner;
        put(dy[y] * losses[at], dx + at, add);
      }
    });
  });
}

// Everything is in double, because large terms cancel out.
template <class E>
void poisson_forward(const ForwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    const double x = static_cast<double>(*call.in[0].at<E>(i)), count = call.integers[i];
    const double rate = std::exp(x);  // if infinite, no other term compensates for it
    const bool is_alone = count == 0 || std::isinf(rate);
    const double rest = is_alone ? 0 : formulas::special::log_gamma(count + 1) - count * x;
    *call.out.at<E>(i) = static_cast<E>(rate + rest);
  }
}
template <class E>
void poisson_backward(const BackwardCall& call) {
  for_gradients<E>(call, 0, [&](std::size_t i, E* dx, bool add) {
    const double x = static_cast<double>(*call.in[0].at<E>(i)), count = call.integers[i];
    const E result = *call.dy.at<E>(i) * static_cast<E>(std::exp(x) - count);
    put(result, dx, add);
  });
}

}  // namespace

std::vector<KernelEntry> cpu::loss_kernels() {
  return {{"hinge", DYNET_LIKE_KERNELS(hinge_forward, hinge_backward)},
          {"poisson_loss", DYNET_LIKE_KERNELS(poisson_forward, poisson_backward)}};
}

}  // namespace dynet_like::detail
