// Softmax, log-softmax and their loss on the CPU: two passes, the maximum taken off first.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/softmax.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/lanes-inl.h"
#include "dynet_like/device/cpu/kernel_table.h"

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::HWY_NAMESPACE {

template <class E>
HWY_INLINE E maximum(const E* x, std::size_t n) {
  Lanes<E> result(static_cast<double>(x[0]));
  for_lanes<E>(n, [&](std::size_t at, std::size_t count) HWY_ATTR {
    // Dead lanes repeat the first element.
    E buffer[Lanes<E>::size];
    if (count == Lanes<E>::size) {
      result = max(result, Lanes<E>::load(x + at));
    } else {
      Lanes<E>(static_cast<double>(x[0])).store(buffer);
      std::memcpy(buffer, x + at, count * sizeof(E));
      result = max(result, Lanes<E>::load(buffer));
    }
  });
  return result.max();
}

// The sum of e^(x - shift), with the terms written to `terms` unless it is null.
template <class E>
HWY_INLINE E sum_of_exponentials(const E* x, E shift, std::size_t n, E* terms) {
  const Lanes<E> off(static_cast<double>(shift));
  Lanes<E> total(0.0);
  for_lanes<E>(n, [&](std::size_t at, std::size_t count) HWY_ATTR {
    const Lanes<E> term = exp(load(x + at, count) - off);
    if (terms != nullptr) store(term, terms + at, count);
    E buffer[Lanes<E>::size];
    term.store(buffer);
    total = total + load(buffer, count);  // dead lanes count as zero
  });
  return total.sum();
}

template <class E>
HWY_INLINE E log_of(E x) {
  E buffer[Lanes<E>::size];
  log(Lanes<E>(static_cast<double>(x))).store(buffer);
  return buffer[0];
}

template <class E>
void softmax_of(const E* x, E* y, std::size_t n) {
  const Lanes<E> total(static_cast<double>(sum_of_exponentials(x, maximum(x, n), n, y)));
  for_lanes<E>(n, [&](std::size_t at, std::size_t count)
                      HWY_ATTR { store(load(y + at, count) / total, y + at, count); });
}

template <class E>
void log_softmax_of(const E* x, E* y, std::size_t n) {
  const E top = maximum(x, n);
  const E log_total = log_of(sum_of_exponentials<E>(x, top, n, nullptr));
  for_lanes<E>(n, [&](std::size_t at, std::size_t count) HWY_ATTR {
    const Lanes<E> shifted = load(x + at, count) - Lanes<E>(static_cast<double>(top));
    store(shifted - Lanes<E>(static_cast<double>(log_total)), y + at, count);
  });
}

// dx = y (dy - sum y dy)
template <class E>
void softmax_gradient(const E* y, const E* dy, E* dx, std::size_t n, bool add) {
  Lanes<E> total(0.0);
  for_lanes<E>(n, [&](std::size_t at, std::size_t count) HWY_ATTR {
    total = fused(load(y + at, count), load(dy + at, count), total);
  });
  const Lanes<E> mean(static_cast<double>(total.sum()));
  for_lanes<E>(n, [&](std::size_t at, std::size_t count) HWY_ATTR {
    put(load(y + at, count) * (load(dy + at, count) - mean), dx + at, count, add);
  });
}

// dx = dy - e^y sum dy
template <class E>
void log_softmax_gradient(const E* y, const E* dy, E* dx, std::size_t n, bool add) {
  Lanes<E> total(0.0);
  for_lanes<E>(
      n, [&](std::size_t at, std::size_t count) HWY_ATTR { total = total + load(dy + at, count); });
  const Lanes<E> sum(static_cast<double>(total.sum()));
  for_lanes<E>(n, [&](std::size_t at, std::size_t count) HWY_ATTR {
    put(load(dy + at, count) - exp(load(y + at, count)) * sum, dx + at, count, add);
  });
}

template <class E>
void gather(const E* from, std::size_t stride, E* to, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) to[k] = from[k * stride];
}

// Applies f(x, y, n) along a dimension; strided vectors pass through contiguous copies.
template <class E, void (*f)(const E*, E*, std::size_t)>
void along_forward(const ForwardCall& call) {
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  E* copies = axis.inner == 1 ? nullptr : call.workspace->elements<E>(2 * axis.n);
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* x = call.in[0].at<E>(i);
    E* y = static_cast<E*>(call.out) + i * call.type->output_size;
    for (std::size_t vector = 0; vector < axis.inner * axis.outer; ++vector) {
      const std::size_t start = vector / axis.inner * axis.inner * axis.n + vector % axis.inner;
      if (axis.inner == 1) {
        f(x + start, y + start, axis.n);
        continue;
      }
      gather(x + start, axis.inner, copies, axis.n);
      f(copies, copies + axis.n, axis.n);
      for (std::size_t k = 0; k < axis.n; ++k) y[start + k * axis.inner] = copies[axis.n + k];
    }
  }
}

template <class E, void (*f)(const E*, const E*, E*, std::size_t, bool)>
void along_backward(const BackwardCall& call) {
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  E* copies = axis.inner == 1 ? nullptr : call.workspace->elements<E>(3 * axis.n);
  for (std::size_t i = 0; i < call.n; ++i) {
    E* dx = call.dx[0].at<E>(i);
    if (dx == nullptr) continue;
    const bool add = call.dx[0].add[i] != 0;
    const E *y = call.out.at<E>(i), *dy = call.dy.at<E>(i);
    for (std::size_t vector = 0; vector < axis.inner * axis.outer; ++vector) {
      const std::size_t start = vector / axis.inner * axis.inner * axis.n + vector % axis.inner;
      if (axis.inner == 1) {
        f(y + start, dy + start, dx + start, axis.n, add);
        continue;
      }
      gather(y + start, axis.inner, copies, axis.n);
      gather(dy + start, axis.inner, copies + axis.n, axis.n);
      f(copies, copies + axis.n, copies + 2 * axis.n, axis.n, false);
      for (std::size_t k = 0; k < axis.n; ++k) {
        put(copies[2 * axis.n + k], dx + start + k * axis.inner, add);
      }
    }
  }
}

// The loss keeps log sum e^x for the gradient.
template <class E>
void loss_forward(const ForwardCall& call) {
  const std::size_t n = call.type->inputs[0].size();
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* x = call.in[0].at<E>(i);
    const E top = maximum(x, n);
    const E log_total = top + log_of(sum_of_exponentials<E>(x, top, n, nullptr));
    static_cast<E*>(call.saved)[i] = log_total;
    static_cast<E*>(call.out)[i] = log_total - x[call.integers[i]];
  }
}

// dx[k] = dy (e^(x[k] - log sum e^x) - [k = class])
template <class E>
void loss_backward(const BackwardCall& call) {
  const std::size_t n = call.type->inputs[0].size();
  for (std::size_t i = 0; i < call.n; ++i) {
    E* dx = call.dx[0].at<E>(i);
    if (dx == nullptr) continue;
    const E* x = call.in[0].at<E>(i);
    const E dy = *call.dy.at<E>(i);
    const Lanes<E> factor(static_cast<double>(dy));
    const Lanes<E> log_total(static_cast<double>(*call.saved.at<E>(i)));
    const bool add = call.dx[0].add[i] != 0;
    const std::size_t target = call.integers[i];
    const E before = add ? dx[target] : E(0);
    for_lanes<E>(n, [&](std::size_t at, std::size_t count) HWY_ATTR {
      put(exp(load(x + at, count) - log_total) * factor, dx + at, count, add);
    });
    // The class itself: the whole result first, then at most one addition.
    E buffer[Lanes<E>::size];
    (exp(Lanes<E>(static_cast<double>(x[target])) - log_total) * factor).store(buffer);
    const E result = buffer[0] - dy;
    dx[target] = add ? before + result : result;
  }
}

std::span<const cpu::KernelEntry> softmax_table() {
  static const cpu::KernelEntry table[] = {
      {"softmax",
       {{along_forward<float, softmax_of<float>>, along_forward<double, softmax_of<double>>},
        {along_backward<float, softmax_gradient<float>>,
         along_backward<double, softmax_gradient<double>>}}},
      {"log_softmax",
       {{along_forward<float, log_softmax_of<float>>,
         along_forward<double, log_softmax_of<double>>},
        {along_backward<float, log_softmax_gradient<float>>,
         along_backward<double, log_softmax_gradient<double>>}}},
      {"pickneglogsoftmax",
       {{loss_forward<float>, loss_forward<double>},
        {loss_backward<float>, loss_backward<double>}}}};
  return table;
}

}  // namespace dynet_like::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like {
HWY_EXPORT(softmax_table);
std::span<const cpu::KernelEntry> cpu::softmax_kernels() {
  return HWY_DYNAMIC_DISPATCH(softmax_table)();
}
}  // namespace dynet_like
#endif
