// Kernels along one dimension, line by line: a line is n elements at a distance.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "dynet_like/device/cpu/kernel_table.h"

namespace dynet_like {

namespace {

// f(first element) for every line of an item.
template <class F>
void for_lines(const Axis& axis, const F& f) {
  for (std::size_t o = 0; o < axis.outer; ++o) {
    for (std::size_t i = 0; i < axis.inner; ++i) f(o * axis.n * axis.inner + i, o * axis.inner + i);
  }
}

Axis axis_of(const Signature& type) { return Axis(type.inputs[0], type.attributes[0]); }

template <class E>
void put(E result, E* to, bool add) {
  *to = add ? *to + result : result;
}

// The place of the first of the largest elements; a NaN counts as larger than all.
template <class E>
std::size_t place_of_largest(const E* line, const Axis& axis) {
  std::size_t best = 0;
  for (std::size_t k = 1; k < axis.n; ++k) {
    const E x = line[k * axis.inner], top = line[best * axis.inner];
    if (top < x || (std::isnan(x) && !std::isnan(top))) best = k;
  }
  return best;
}

// value(x line, y) per line, where y has one element per line.
template <class E, class Value>
void reduce(const ForwardCall& call, const Value& value) {
  const Axis axis = axis_of(*call.type);
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i, out += call.type->output_size) {
    const E* x = call.in[0].at<E>(i);
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
  for (std::size_t i = 0; i < call.n; ++i) {
    E* dx = call.dx[0].at<E>(i);
    if (dx == nullptr) continue;
    const bool add = call.dx[0].add[i] != 0;
    const E *x = call.in[0].at<E>(i), *dy = call.dy.at<E>(i);
    for_lines(axis, [&](std::size_t line, std::size_t y) {
      const std::size_t best = place_of_largest(x + line, axis);
      for (std::size_t k = 0; k < axis.n; ++k) {
        put(k == best ? dy[y] : E(0), dx + line + k * axis.inner, add);
      }
    });
  }
}

template <class E>
void argmax_forward(const ForwardCall& call) {
  const Axis axis = axis_of(*call.type);
  E* out = static_cast<E*>(call.out);
  std::fill_n(out, call.n * call.type->output_size, E(0));
  for (std::size_t i = 0; i < call.n; ++i, out += call.type->output_size) {
    const E* x = call.in[0].at<E>(i);
    for_lines(axis, [&](std::size_t line, std::size_t) {
      out[line + place_of_largest(x + line, axis) * axis.inner] = E(1);
    });
  }
}
template <class E>
void pass_on(const BackwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    E* dx = call.dx[0].at<E>(i);
    if (dx == nullptr) continue;
    const E* dy = call.dy.at<E>(i);
    for (std::size_t e = 0; e < call.type->output_size; ++e) {
      put(dy[e], dx + e, call.dx[0].add[i] != 0);
    }
  }
}

template <class E>
void cumsum_forward(const ForwardCall& call) {
  const Axis axis = axis_of(*call.type);
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i, out += call.type->output_size) {
    const E* x = call.in[0].at<E>(i);
    for_lines(axis, [&](std::size_t line, std::size_t) {
      E sum = 0;
      for (std::size_t k = 0; k < axis.n; ++k) {
        sum += x[line + k * axis.inner];
        out[line + k * axis.inner] = sum;
      }
    });
  }
}
template <class E>
void cumsum_backward(const BackwardCall& call) {
  const Axis axis = axis_of(*call.type);
  for (std::size_t i = 0; i < call.n; ++i) {
    E* dx = call.dx[0].at<E>(i);
    if (dx == nullptr) continue;
    const E* dy = call.dy.at<E>(i);
    for_lines(axis, [&](std::size_t line, std::size_t) {
      E sum = 0;
      for (std::size_t k = axis.n; k-- > 0;) {
        sum += dy[line + k * axis.inner];
        put(sum, dx + line + k * axis.inner, call.dx[0].add[i] != 0);
      }
    });
  }
}

// A largest element that is infinite is the result: its difference to itself would be no number.
template <class E>
void logsumexp_forward(const ForwardCall& call) {
  reduce<E>(call, [](const E* line, const Axis& axis) {
    const E top = line[place_of_largest(line, axis) * axis.inner];
    if (!std::isfinite(top)) return top;
    E sum = 0;
    for (std::size_t k = 0; k < axis.n; ++k) sum += std::exp(line[k * axis.inner] - top);
    return top + std::log(sum);
  });
}
// The parts in the sum: softmax(x). They are not taken from the result, of which a large maximum
// leaves few digits. Infinite elements share the gradient; of -infinity everywhere none has any.
template <class E>
void logsumexp_backward(const BackwardCall& call) {
  const Axis axis = axis_of(*call.type);
  E* parts = call.workspace->elements<E>(axis.n);
  for (std::size_t i = 0; i < call.n; ++i) {
    E* dx = call.dx[0].at<E>(i);
    if (dx == nullptr) continue;
    const E *x = call.in[0].at<E>(i), *dy = call.dy.at<E>(i);
    for_lines(axis, [&](std::size_t line, std::size_t y) {
      const E top = x[line + place_of_largest(x + line, axis) * axis.inner];
      E sum = 0;
      for (std::size_t k = 0; k < axis.n; ++k) {
        const E each = x[line + k * axis.inner];
        parts[k] = std::isinf(top) ? E(each == top && top > 0) : std::exp(each - top);
        sum += parts[k];
      }
      const E factor = sum == 0 ? E(0) : dy[y] / sum;
      for (std::size_t k = 0; k < axis.n; ++k) {
        put(factor * parts[k], dx + line + k * axis.inner, call.dx[0].add[i] != 0);
      }
    });
  }
}

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
    const E x = line[a * axis.inner], y = line[b * axis.inner];
    return x > y || (std::isnan(x) && !std::isnan(y));
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

// f(k, m - x[i] + x[k]) for all k but the chosen one, i, of every line; line_end(line, i, y) after.
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
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i, out += call.type->output_size) {
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
  for (std::size_t i = 0; i < call.n; ++i) {
    E* dx = call.dx[0].at<E>(i);
    if (dx == nullptr) continue;
    const bool add = call.dx[0].add[i] != 0;
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
  }
}

}  // namespace

std::span<const cpu::KernelEntry> cpu::dimension_kernels() {
  static const KernelEntry table[] = {
      {"max_dim",
       {{max_forward<float>, max_forward<double>}, {max_backward<float>, max_backward<double>}}},
      {"argmax",
       {{argmax_forward<float>, argmax_forward<double>}, {pass_on<float>, pass_on<double>}}},
      {"cumsum",
       {{cumsum_forward<float>, cumsum_forward<double>},
        {cumsum_backward<float>, cumsum_backward<double>}}},
      {"logsumexp_dim",
       {{logsumexp_forward<float>, logsumexp_forward<double>},
        {logsumexp_backward<float>, logsumexp_backward<double>}}},
      {"hinge",
       {{hinge_forward<float>, hinge_forward<double>},
        {hinge_backward<float>, hinge_backward<double>}}},
      {"kmax_pooling",
       {{kmax_forward<float>, kmax_forward<double>},
        {kmax_backward<float>, kmax_backward<double>}}},
      {"select",
       {{select_forward<float>, select_forward<double>},
        {select_backward<float>, select_backward<double>}}}};
  return table;
}

}  // namespace dynet_like
