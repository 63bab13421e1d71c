// Kernels along one dimension, line by line: a line is n elements with a constant stride.
#include <algorithm>
#include <cmath>

#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/lines.h"

namespace dynet_like::detail {

using namespace cpu;

namespace {

// y = value(line of x) for every line; y has one element per line.
template <class E, class Value>
void reduce(const ForwardCall& call, const Value& value) {
  const Axis axis = axis_of(*call.type);
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* x = call.in[0].at<E>(i);
    E* const out = call.out.at<E>(i);
    for_lines(axis, [&](std::size_t line, std::size_t y) { out[y] = value(x + line, axis); });
  }
}

template <class E>
void max_forward(const ForwardCall& call) {
  reduce<E>(call, [](const E* line, const Axis& axis) {
    return line[place_of_largest(line, axis) * axis.inner];
  });
}
template <class E>
void max_backward(const BackwardCall& call) {
  const Axis axis = axis_of(*call.type);
  for_gradients<E>(call, 0, [&](std::size_t i, E* dx, bool add) {
    const E *x = call.in[0].at<E>(i), *dy = call.dy.at<E>(i);
    for_lines(axis, [&](std::size_t line, std::size_t y) {
      const std::size_t best = place_of_largest(x + line, axis);
      for (std::size_t k = 0; k < axis.n; ++k) {
        put(k == best ? dy[y] : E(0), dx + line + k * axis.inner, add);
      }
    });
  });
}

template <class E>
void argmax_forward(const ForwardCall& call) {
  const Axis axis = axis_of(*call.type);
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* x = call.in[0].at<E>(i);
    E* const out = call.out.at<E>(i);
    std::fill_n(out, call.type->output_size, E(0));
    for_lines(axis, [&](std::size_t line, std::size_t) {
      out[line + place_of_largest(x + line, axis) * axis.inner] = E(1);
    });
  }
}
template <class E>
void pass_on(const BackwardCall& call) {
  for_gradients<E>(call, 0, [&](std::size_t i, E* dx, bool add) {
    const E* dy = call.dy.at<E>(i);
    for (std::size_t e = 0; e < call.type->output_size; ++e) {
      put(dy[e], dx + e, add);
    }
  });
}

template <class E>
void cumsum_forward(const ForwardCall& call) {
  const Axis axis = axis_of(*call.type);
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* x = call.in[0].at<E>(i);
    E* const out = call.out.at<E>(i);
    for_lines(axis, [&](std::size_t line, std::size_t) {
      double sum = 0;  // a long chain of floats would lose digits
      for (std::size_t k = 0; k < axis.n; ++k) {
        sum += static_cast<double>(x[line + k * axis.inner]);
        out[line + k * axis.inner] = static_cast<E>(sum);
      }
    });
  }
}
template <class E>
void cumsum_backward(const BackwardCall& call) {
  const Axis axis = axis_of(*call.type);
  for_gradients<E>(call, 0, [&](std::size_t i, E* dx, bool add) {
    const E* dy = call.dy.at<E>(i);
    for_lines(axis, [&](std::size_t line, std::size_t) {
      double sum = 0;
      for (std::size_t k = axis.n; k-- > 0;) {
        sum += static_cast<double>(dy[line + k * axis.inner]);
        put(static_cast<E>(sum), dx + line + k * axis.inner, add);
      }
    });
  });
}

}  // namespace

std::vector<KernelEntry> cpu::dimension_kernels() {
  return {{"max_dim", DYNET_LIKE_KERNELS(max_forward, max_backward)},
          {"argmax", DYNET_LIKE_KERNELS(argmax_forward, pass_on)},
          {"cumsum", DYNET_LIKE_KERNELS(cumsum_forward, cumsum_backward)},
          {"logsumexp_dim", logsumexp_kernels()}};
}

}  // namespace dynet_like::detail
