// Kernels of elements that are chosen along a dimension: by integers, or by their size.
#include <algorithm>
#include <limits>
#include <numeric>

#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/lines.h"

namespace dynet_like::detail {

using namespace cpu;

namespace {

template <class E>
void select_forward(const ForwardCall& call) {
  const Axis axis = axis_of(*call.type);
  const std::size_t count = call.type->integers;
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i) {
    const std::uint32_t* chosen = call.integers + i * count;
    const E* x = call.in[0].at<E>(i);
    for (std::size_t o = 0; o < axis.outer; ++o, x += axis.n * axis.inner) {
      for (std::size_t k = 0; k < count; ++k, out += axis.inner) {
        std::copy_n(x + chosen[k] * axis.inner, axis.inner, out);
      }
    }
  }
}
// Elements that are chosen several times get the sum; what is not chosen gets zero.
template <class E>
void select_backward(const BackwardCall& call) {
  const Axis axis = axis_of(*call.type);
  const std::size_t count = call.type->integers, block = axis.n * axis.inner;
  E* sums = call.workspace->elements<E>(block);
  for (std::size_t i = 0; i < call.n; ++i) {
    E* dx = call.dx[0].at<E>(i);
    if (dx == nullptr) continue;
    const std::uint32_t* chosen = call.integers + i * count;
    const E* dy = call.dy.at<E>(i);
    for (std::size_t o = 0; o < axis.outer; ++o, dx += block) {
      std::fill_n(sums, block, E(0));
      for (std::size_t k = 0; k < count; ++k, dy += axis.inner) {
        for (std::size_t e = 0; e < axis.inner; ++e) sums[chosen[k] * axis.inner + e] += dy[e];
      }
      for (std::size_t e = 0; e < block; ++e) put(sums[e], dx + e, call.dx[0].add[i] != 0);
    }
  }
}

// The places in a line of its largest elements, in their order.
template <class E>
void find_largest(const E* line, const Axis& axis, std::size_t count, std::size_t* places) {
  std::size_t* all = places;
  std::iota(all, all + axis.n, std::size_t{0});
  const auto larger = [&](std::size_t a, std::size_t b) {
    return is_larger(line[a * axis.inner], line[b * axis.inner]);
  };
  std::stable_sort(all, all + axis.n, larger);
  std::sort(all, all + count);
}

template <class E>
void kmax_forward(const ForwardCall& call) {
  const Axis axis = axis_of(*call.type);
  const std::size_t k = call.type->attributes[1];
  auto* places = call.workspace->elements<std::size_t>(axis.n);
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i, out += call.type->output_size) {
    const E* x = call.in[0].at<E>(i);
    for_lines(axis, [&](std::size_t line, std::size_t y) {
      find_largest(x + line, axis, k, places);
      E* to = out + y / axis.inner * k * axis.inner + y % axis.inner;
      for (std::size_t e = 0; e < k; ++e) to[e * axis.inner] = x[line + places[e] * axis.inner];
    });
  }
}
template <class E>
void kmax_backward(const BackwardCall& call) {
  const Axis axis = axis_of(*call.type);
  const std::size_t k = call.type->attributes[1];
  auto* places = call.workspace->elements<std::size_t>(axis.n);
  E* gradients = call.workspace->elements<E>(axis.n);
  for (std::size_t i = 0; i < call.n; ++i) {
    E* dx = call.dx[0].at<E>(i);
    if (dx == nullptr) continue;
    const E *x = call.in[0].at<E>(i), *dy = call.dy.at<E>(i);
    for_lines(axis, [&](std::size_t line, std::size_t y) {
      find_largest(x + line, axis, k, places);
      const E* from = dy + y / axis.inner * k * axis.inner + y % axis.inner;
      std::fill_n(gradients, axis.n, E(0));
      for (std::size_t e = 0; e < k; ++e) gradients[places[e]] = from[e * axis.inner];
      for (std::size_t e = 0; e < axis.n; ++e) {
        put(gradients[e], dx + line + e * axis.inner, call.dx[0].add[i] != 0);
      }
    });
  }
}

// Line `chosen[k]` of the result gets what is added up of the lines k of the input.
template <class E>
void scatter_add_forward(const ForwardCall& call) {
  const Axis axis = axis_of(*call.type);
  const std::size_t count = call.type->attributes[2];
  E* out = static_cast<E*>(call.out);
  std::fill_n(out, call.n * call.type->output_size, E(0));
  for (std::size_t i = 0; i < call.n; ++i) {
    const std::uint32_t* chosen = call.integers + i * axis.n;
    const E* x = call.in[0].at<E>(i);
    for (std::size_t o = 0; o < axis.outer; ++o, out += count * axis.inner) {
      for (std::size_t k = 0; k < axis.n; ++k, x += axis.inner) {
        for (std::size_t e = 0; e < axis.inner; ++e) out[chosen[k] * axis.inner + e] += x[e];
      }
    }
  }
}
template <class E>
void scatter_add_backward(const BackwardCall& call) {
  const Axis axis = axis_of(*call.type);
  const std::size_t count = call.type->attributes[2];
  for (std::size_t i = 0; i < call.n; ++i) {
    E* dx = call.dx[0].at<E>(i);
    if (dx == nullptr) continue;
    const std::uint32_t* chosen = call.integers + i * axis.n;
    const E* dy = call.dy.at<E>(i);
    for (std::size_t o = 0; o < axis.outer; ++o, dy += count * axis.inner) {
      for (std::size_t k = 0; k < axis.n; ++k, dx += axis.inner) {
        for (std::size_t e = 0; e < axis.inner; ++e) {
          put(dy[chosen[k] * axis.inner + e], dx + e, call.dx[0].add[i] != 0);
        }
      }
    }
  }
}

// For every element of the result, calls f(element, k): k is the first of the largest that are
// chosen for it, or axis.n if there is none.
template <class E, class F>
void for_largest_chosen(const E* x, const Axis& axis, const std::uint32_t* chosen,
                        std::size_t count, std::size_t* best, const F& f) {
  for_lines(axis, [&](std::size_t line, std::size_t y) {
    std::fill_n(best, count, axis.n);
    for (std::size_t k = 0; k < axis.n; ++k) {
      std::size_t& top = best[chosen[k]];
      if (top == axis.n || is_larger(x[line + k * axis.inner], x[line + top * axis.inner])) top = k;
    }
    const std::size_t first = y / axis.inner * count * axis.inner + y % axis.inner;
    for (std::size_t c = 0; c < count; ++c) f(line, first + c * axis.inner, best[c]);
  });
}

template <class E>
void scatter_max_forward(const ForwardCall& call) {
  const Axis axis = axis_of(*call.type);
  const std::size_t count = call.type->attributes[2];
  auto* best = call.workspace->elements<std::size_t>(count);
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i, out += call.type->output_size) {
    const E* x = call.in[0].at<E>(i);
    for_largest_chosen(x, axis, call.integers + i * axis.n, count, best,
                       [&](std::size_t line, std::size_t y, std::size_t k) {
                         out[y] = k == axis.n ? -std::numeric_limits<E>::infinity()
                                              : x[line + k * axis.inner];
                       });
  }
}
template <class E>
void scatter_max_backward(const BackwardCall& call) {
  const Axis axis = axis_of(*call.type);
  const std::size_t count = call.type->attributes[2], size = call.type->inputs[0].size();
  auto* best = call.workspace->elements<std::size_t>(count);
  E* gradients = call.workspace->elements<E>(size);
  for (std::size_t i = 0; i < call.n; ++i) {
    E* dx = call.dx[0].at<E>(i);
    if (dx == nullptr) continue;
    const E* dy = call.dy.at<E>(i);
    std::fill_n(gradients, size, E(0));
    for_largest_chosen(call.in[0].at<E>(i), axis, call.integers + i * axis.n, count, best,
                       [&](std::size_t line, std::size_t y, std::size_t k) {
                         if (k < axis.n) gradients[line + k * axis.inner] = dy[y];
                       });
    for (std::size_t e = 0; e < size; ++e) put(gradients[e], dx + e, call.dx[0].add[i] != 0);
  }
}

}  // namespace

std::span<const cpu::KernelEntry> cpu::selection_kernels() {
  static const KernelEntry table[] = {
      {"select",
       {{select_forward<float>, select_forward<double>},
        {select_backward<float>, select_backward<double>}}},
      {"kmax_pooling",
       {{kmax_forward<float>, kmax_forward<double>},
        {kmax_backward<float>, kmax_backward<double>}}},
      {"scatter_add",
       {{scatter_add_forward<float>, scatter_add_forward<double>},
        {scatter_add_backward<float>, scatter_add_backward<double>}}},
      {"scatter_max",
       {{scatter_max_forward<float>, scatter_max_forward<double>},
        {scatter_max_backward<float>, scatter_max_backward<double>}}}};
  return table;
}

}  // namespace dynet_like::detail
