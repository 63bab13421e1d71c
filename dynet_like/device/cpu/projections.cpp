// Kernels of projections onto the simplex. Items are vectors, and few of them are long.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/lines.h"

namespace dynet_like::detail {

using namespace cpu;

namespace {

// sparsemax(x) = max(0, x - top - t), where top is the largest element and t, in [-1, 0], makes the
// sum 1. Subtracting the largest keeps the digits of elements of any size. If x contains NaN or
// +infinity, t is NaN.
template <class E>
struct Support {
  E top, threshold;

  Support(const E* x, std::size_t n, E* sorted)
      : top(x[0]), threshold(std::numeric_limits<E>::quiet_NaN()) {
    for (std::size_t e = 1; e < n && !std::isnan(top); ++e) top = x[e] <= top ? top : x[e];
    if (!std::isfinite(top)) return;
    for (std::size_t e = 0; e < n; ++e) sorted[e] = x[e] - top;
    std::sort(sorted, sorted + n, std::greater<E>());
    double sum = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const double element = static_cast<double>(sorted[k]), count = static_cast<double>(k + 1);
      if (1 + count * element <= sum + element) break;  // the largest elements are the support
      sum += element;
      threshold = static_cast<E>((sum - 1) / count);
    }
  }
  /// Restores what loss_forward saved.
  explicit Support(const E* saved) : top(saved[0]), threshold(saved[1]) {}

  E part(E x) const {
    const E above = (x - top) - threshold;
    return above < 0 ? E(0) : above;
  }
};

template <class E>
void sparsemax_forward(const ForwardCall& call) {
  const std::size_t n = call.type->output_size;
  E* sorted = call.workspace->elements<E>(n);
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* x = call.in[0].at<E>(i);
    E* const out = call.out.at<E>(i);
    const Support<E> support(x, n, sorted);
    for (std::size_t e = 0; e < n; ++e) out[e] = support.part(x[e]);
  }
}
// Inside the support, dx is dy minus the mean of dy over the support. Elements that are NaN are not
// 0, so they get a NaN.
template <class E>
void sparsemax_backward(const BackwardCall& call) {
  const std::size_t n = call.type->output_size;
  for_gradients<E>(call, 0, [&](std::size_t i, E* dx, bool add) {
    const E *y = call.out.at<E>(i), *dy = call.dy.at<E>(i);
    E sum = 0, count = 0;
    for (std::size_t e = 0; e < n; ++e) {
      if (y[e] == 0) continue;
      sum += dy[e];
      ++count;
    }
    for (std::size_t e = 0; e < n; ++e) {
      const E gradient = std::isnan(y[e]) ? y[e] : dy[e] - sum / count;
      put(y[e] == 0 ? E(0) : gradient, dx + e, add);
    }
  });
}

// Adding one number to all elements does not change the loss, so the largest is subtracted.
template <class E>
void loss_forward(const ForwardCall& call) {
  const std::size_t n = call.type->inputs[0].size(), targets = call.type->integers;
  const E q = 1 / static_cast<E>(targets);
  E* sorted = call.workspace->elements<E>(n);
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* x = call.in[0].at<E>(i);
    const Support<E> support(x, n, sorted);
    E loss = q / 2;  // q'q is 1 / targets
    for (std::size_t e = 0; e < n; ++e) {
      const E part = support.part(x[e]);
      if (part != 0) loss += part * (part + 2 * support.threshold) / 2;
    }
    for (std::size_t k = 0; k < targets; ++k) {
      loss -= q * (x[call.integers[i * targets + k]] - support.top);
    }
    *call.out.at<E>(i) = loss;
    if (call.saved == nullptr) continue;
    static_cast<E*>(call.saved)[2 * i] = support.top;
    static_cast<E*>(call.saved)[2 * i + 1] = support.threshold;
  }
}
// sparsemax(x) - q
template <class E>
void loss_backward(const BackwardCall& call) {
  const std::size_t n = call.type->inputs[0].size(), targets = call.type->integers;
  const E q = 1 / static_cast<E>(targets);
  for_gradients<E>(call, 0, [&](std::size_t i, E* dx, bool add) {
    const E *x = call.in[0].at<E>(i), dy = *call.dy.at<E>(i);
    const Support<E> support(call.saved.at<E>(i));
    const std::uint32_t* target = call.integers + i * targets;
    for (std::size_t e = 0; e < n; ++e) {
      const E wanted = q * static_cast<E>(std::count(target, target + targets, e));
      put(dy * (support.part(x[e]) - wanted), dx + e, add);
    }
  });
}

// Elements that reach their bound stay there. The others share the rest by a softmax, with their
// own largest subtracted, until none exceeds its bound. A NaN makes all free elements NaN.
template <class E>
void bounded_softmax(const E* x, const E* bound, std::size_t n, bool* bounded, E* y) {
  std::fill_n(bounded, n, false);
  for (bool changed = true; changed;) {
    E left = 1, top = -std::numeric_limits<E>::infinity(), sum = 0;
    for (std::size_t e = 0; e < n; ++e) {
      if (bounded[e]) left -= bound[e];
      if (!bounded[e]) top = top < x[e] ? x[e] : top;
    }
    for (std::size_t e = 0; e < n; ++e) {
      y[e] = bounded[e] ? bound[e] : x[e] == top ? E(1) : std::exp(x[e] - top);
      if (!bounded[e]) sum += y[e];
    }
    const E share = (left < 0 ? E(0) : left) / sum;
    changed = false;
    for (std::size_t e = 0; e < n; ++e) {
      if (bounded[e]) continue;
      y[e] *= share;
      bounded[e] = y[e] > bound[e] || std::isnan(bound[e]);
      changed |= bounded[e];
    }
  }
}

template <class E>
void bounded_forward(const ForwardCall& call) {
  const std::size_t n = call.type->output_size;
  bool* bounded = call.workspace->elements<bool>(n);
  for (std::size_t i = 0; i < call.n; ++i) {
    bounded_softmax(call.in[0].at<E>(i), call.in[1].at<E>(i), n, bounded, call.out.at<E>(i));
  }
}
// Let s be the share of the free elements and m = (sum of y dy over them) / s. Free elements have
// dx = y (dy - m); bounded elements have dbound = dy - m. A NaN counts as free.
template <class E>
void bounded_backward(const BackwardCall& call) {
  const std::size_t n = call.type->output_size;
  for (std::size_t i = 0; i < call.n; ++i) {
    const E *bound = call.in[1].at<E>(i), *y = call.out.at<E>(i), *dy = call.dy.at<E>(i);
    const auto is_free = [&](std::size_t e) { return y[e] < bound[e] || std::isnan(y[e]); };
    E share = 0, mean = 0;
    for (std::size_t e = 0; e < n; ++e) {
      if (!is_free(e)) continue;
      share += y[e];
      mean += y[e] * dy[e];
    }
    mean = share == 0 ? E(0) : mean / share;
    for (std::size_t j = 0; j < 2; ++j) {
      E* dx = call.dx[j].wanted() ? call.dx[j].at<E>(i) : nullptr;
      for (std::size_t e = 0; dx != nullptr && e < n; ++e) {
        const E gradient = j == 0 ? y[e] * (dy[e] - mean) : dy[e] - mean;
        put(is_free(e) == (j == 0) ? gradient : E(0), dx + e, call.dx[j].add[i] != 0);
      }
    }
  }
}

}  // namespace

std::vector<KernelEntry> cpu::projection_kernels() {
  return {{"sparsemax", DYNET_LIKE_KERNELS(sparsemax_forward, sparsemax_backward)},
          {"sparsemax_loss", DYNET_LIKE_KERNELS(loss_forward, loss_backward)},
          {"constrained_softmax", DYNET_LIKE_KERNELS(bounded_forward, bounded_backward)}};
}

}  // namespace dynet_like::detail
