// Kernels of projections onto the simplex: an item is a vector, and few of them are long.
#include <algorithm>
#include <cmath>

#include "dynet_like/device/cpu/kernel_table.h"

namespace dynet_like {

namespace {

template <class E>
void put(E result, E* to, bool add) {
  *to = add ? *to + result : result;
}

// t such that the sum of max(0, x - t) is 1: the support are the largest elements.
template <class E>
E threshold(const E* x, std::size_t n, Workspace& workspace) {
  E* sorted = workspace.elements<E>(n);
  std::copy_n(x, n, sorted);
  // A NaN comes first: an order that contradicts itself would lead out of the array.
  std::sort(sorted, sorted + n,
            [](E a, E b) { return a > b || (std::isnan(a) && !std::isnan(b)); });
  E sum = 0, result = 0;
  for (std::size_t k = 0; k < n; ++k) {
    sum += sorted[k];
    const E count = static_cast<E>(k + 1);
    if (1 + count * sorted[k] > sum) result = (sum - 1) / count;
  }
  return result;
}

template <class E>
void sparsemax_forward(const ForwardCall& call) {
  const std::size_t n = call.type->output_size;
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i, out += n) {
    const E* x = call.in[0].at<E>(i);
    const E t = threshold(x, n, *call.workspace);
    for (std::size_t e = 0; e < n; ++e) out[e] = x[e] > t ? x[e] - t : E(0);
  }
}
// dy less its mean over the support, there.
template <class E>
void sparsemax_backward(const BackwardCall& call) {
  const std::size_t n = call.type->output_size;
  for (std::size_t i = 0; i < call.n; ++i) {
    E* dx = call.dx[0].at<E>(i);
    if (dx == nullptr) continue;
    const E *y = call.out.at<E>(i), *dy = call.dy.at<E>(i);
    E sum = 0, count = 0;
    for (std::size_t e = 0; e < n; ++e) {
      if (!(y[e] > 0)) continue;
      sum += dy[e];
      ++count;
    }
    for (std::size_t e = 0; e < n; ++e) {
      put(y[e] > 0 ? dy[e] - sum / count : E(0), dx + e, call.dx[0].add[i] != 0);
    }
  }
}

template <class E>
void loss_forward(const ForwardCall& call) {
  const std::size_t n = call.type->inputs[0].size(), targets = call.type->integers;
  const E q = 1 / static_cast<E>(targets);
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* x = call.in[0].at<E>(i);
    const E t = threshold(x, n, *call.workspace);
    E loss = q / 2;  // q'q is 1 / targets
    for (std::size_t e = 0; e < n; ++e) {
      if (x[e] > t) loss += (x[e] - t) * (x[e] + t) / 2;
    }
    for (std::size_t k = 0; k < targets; ++k) loss -= q * x[call.integers[i * targets + k]];
    static_cast<E*>(call.out)[i] = loss;
    if (call.saved != nullptr) static_cast<E*>(call.saved)[i] = t;
  }
}
// sparsemax(x) - q
template <class E>
void loss_backward(const BackwardCall& call) {
  const std::size_t n = call.type->inputs[0].size(), targets = call.type->integers;
  const E q = 1 / static_cast<E>(targets);
  for (std::size_t i = 0; i < call.n; ++i) {
    E* dx = call.dx[0].at<E>(i);
    if (dx == nullptr) continue;
    const E *x = call.in[0].at<E>(i), t = *call.saved.at<E>(i), dy = *call.dy.at<E>(i);
    const std::uint32_t* target = call.integers + i * targets;
    for (std::size_t e = 0; e < n; ++e) {
      const E wanted = q * static_cast<E>(std::count(target, target + targets, e));
      put(dy * ((x[e] > t ? x[e] - t : E(0)) - wanted), dx + e, call.dx[0].add[i] != 0);
    }
  }
}

// Elements that reach their bound stay there; the others share what is left, until none is above.
template <class E>
void bounded_forward(const ForwardCall& call) {
  const std::size_t n = call.type->output_size;
  E* y = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i, y += n) {
    const E *x = call.in[0].at<E>(i), *bound = call.in[1].at<E>(i);
    const E top = *std::max_element(x, x + n);
    bool* bounded = call.workspace->elements<bool>(n);
    std::fill_n(bounded, n, false);
    for (bool changed = true; changed;) {
      E left = 1, sum = 0;
      for (std::size_t e = 0; e < n; ++e) {
        if (bounded[e]) left -= bound[e];
        if (!bounded[e]) sum += std::exp(x[e] - top);
      }
      changed = false;
      for (std::size_t e = 0; e < n; ++e) {
        y[e] = bounded[e] ? bound[e] : std::exp(x[e] - top) * (left / sum);
        if (bounded[e] || !(y[e] > bound[e])) continue;
        bounded[e] = changed = true;
      }
    }
  }
}
// With s, the share of the free elements, and m = the sum of y dy over them / s: what is free has
// dx = y (dy - m); what is bounded has dbound = dy - m.
template <class E>
void bounded_backward(const BackwardCall& call) {
  const std::size_t n = call.type->output_size;
  for (std::size_t i = 0; i < call.n; ++i) {
    const E *bound = call.in[1].at<E>(i), *y = call.out.at<E>(i), *dy = call.dy.at<E>(i);
    E share = 0, mean = 0;
    for (std::size_t e = 0; e < n; ++e) {
      if (!(y[e] < bound[e])) continue;
      share += y[e];
      mean += y[e] * dy[e];
    }
    mean = share > 0 ? mean / share : E(0);
    for (std::size_t j = 0; j < 2; ++j) {
      E* dx = call.dx[j].wanted() ? call.dx[j].at<E>(i) : nullptr;
      for (std::size_t e = 0; dx != nullptr && e < n; ++e) {
        const bool is_free = y[e] < bound[e];
        const E gradient = j == 0 ? y[e] * (dy[e] - mean) : dy[e] - mean;
        put(is_free == (j == 0) ? gradient : E(0), dx + e, call.dx[j].add[i] != 0);
      }
    }
  }
}

}  // namespace

std::span<const cpu::KernelEntry> cpu::projection_kernels() {
  static const KernelEntry table[] = {{"sparsemax",
                                       {{sparsemax_forward<float>, sparsemax_forward<double>},
                                        {sparsemax_backward<float>, sparsemax_backward<double>}}},
                                      {"sparsemax_loss",
                                       {{loss_forward<float>, loss_forward<double>},
                                        {loss_backward<float>, loss_backward<double>}}},
                                      {"constrained_softmax",
                                       {{bounded_forward<float>, bounded_forward<double>},
                                        {bounded_backward<float>, bounded_backward<double>}}}};
  return table;
}

}  // namespace dynet_like
