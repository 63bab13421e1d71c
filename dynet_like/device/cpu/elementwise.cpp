// Elementwise kernels: any formula over SIMD lanes, with dimensions of size 1 stretched.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/elementwise.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/lanes-inl.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/ops/elementwise.h"

#ifndef DYNET_LIKE_ELEMENTWISE_ONCE
#define DYNET_LIKE_ELEMENTWISE_ONCE
namespace dynet_like::cpu {

// An item as `runs` runs of `length` output elements. In a run an operand either advances with the
// output or stays at one element; where its runs begin follows from strides per outer dimension.
struct Runs {
  std::size_t length = 1, runs = 1;
  bool advances[2] = {true, true};
  bool stretched[2] = {false, false};
  std::size_t outer[Dim::kMaxDimensions] = {}, stride[2][Dim::kMaxDimensions] = {};
  unsigned outer_count = 0;

  explicit Runs(const Signature& type);
  std::size_t offset(unsigned operand, std::size_t run) const {
    std::size_t result = 0;
    for (unsigned i = 0; i < outer_count; ++i) {
      result += run % outer[i] * stride[operand][i];
      run /= outer[i];
    }
    return result;
  }
};

Runs::Runs(const Signature& type) {
  const unsigned operands = static_cast<unsigned>(type.inputs.size());
  for (unsigned j = 0; j < operands; ++j) {
    stretched[j] = type.inputs[j].size() != type.output_size;
  }
  unsigned d = 0;
  const auto full = [&](unsigned j, unsigned i) { return type.inputs[j][i] == type.output[i]; };
  for (unsigned j = 0; j < operands; ++j) advances[j] = !stretched[j] || (full(j, 0));
  // The inner run: leading dimensions in which every operand keeps advancing, or keeps standing.
  std::size_t inner[2] = {1, 1};
  for (; d < type.output.nd; ++d) {
    bool same = true;
    for (unsigned j = 0; j < operands; ++j) {
      const unsigned size = type.inputs[j][d];
      same = same && (advances[j] ? size == type.output.d[d] : size == 1);
    }
    if (!same) break;
    length *= type.output.d[d];
    for (unsigned j = 0; j < operands; ++j) inner[j] *= type.inputs[j][d];
  }
  for (; d < type.output.nd; ++d) {
    outer[outer_count] = type.output.d[d];
    runs *= type.output.d[d];
    for (unsigned j = 0; j < operands; ++j) {
      const unsigned size = type.inputs[j][d];
      stride[j][outer_count] = size == 1 ? 0 : inner[j];
      inner[j] *= size;
    }
    ++outer_count;
  }
}

}  // namespace dynet_like::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace dynet_like::HWY_NAMESPACE {

using cpu::Runs;

#define LANE HWY_INLINE
#include "dynet_like/ops/elementwise_formulas.h"
#undef LANE

template <class E>
HWY_INLINE Lanes<E> operand(const E* item, bool advances, std::size_t at, std::size_t count) {
  return advances ? load(item + at, count) : Lanes<E>(static_cast<double>(*item));
}

template <class F, class E>
HWY_INLINE Lanes<E> value(Lanes<E> a, Lanes<E> b, Lanes<E> real) {
  if constexpr (F::inputs == 2) {
    return F::value(a, b);
  } else if constexpr (F::reals == 1) {
    return F::value(a, real);
  } else {
    return F::value(a);
  }
}

template <class F, unsigned j, class E>
HWY_INLINE Lanes<E> slope(Lanes<E> a, Lanes<E> b, Lanes<E> y, Lanes<E> real) {
  if constexpr (F::inputs == 2 && j == 0) {
    return F::slope_0(a, b, y);
  } else if constexpr (F::inputs == 2) {
    return F::slope_1(a, b, y);
  } else if constexpr (F::reals == 1) {
    return F::slope_0(a, y, real);
  } else {
    return F::slope_0(a, y);
  }
}

template <class E>
HWY_INLINE Lanes<E> real_of(const void* reals, std::size_t i) {
  return Lanes<E>(reals == nullptr ? 0.0 : static_cast<double>(static_cast<const E*>(reals)[i]));
}

template <class F, class E>
void forward(const ForwardCall& call) {
  const Runs runs(*call.type);
  const std::size_t size = call.type->output_size;
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i, out += size) {
    const Lanes<E> real = real_of<E>(F::reals == 0 ? nullptr : call.reals, i);
    for (std::size_t run = 0; run < runs.runs; ++run) {
      const E* a = call.in[0].at<E>(i) + runs.offset(0, run);
      const E* b = F::inputs == 2 ? call.in[1].at<E>(i) + runs.offset(1, run) : a;
      E* y = out + run * runs.length;
      for_lanes<E>(runs.length, [&](std::size_t at, std::size_t count) HWY_ATTR {
        store(value<F>(operand(a, runs.advances[0], at, count),
                       operand(b, runs.advances[F::inputs - 1], at, count), real),
              y + at, count);
      });
    }
  }
}

// dy * slope of one run, handed to `sink(lanes, at, count)`; what the op does not need is zero.
template <class F, unsigned j, class E, class Sink>
HWY_INLINE void for_gradient(const BackwardCall& call, const Runs& runs, std::size_t i,
                             std::size_t run, Sink&& sink) {
  constexpr bool kInputs = F::needs == Needs::inputs || F::needs == Needs::inputs_and_output;
  constexpr bool kOutput = F::needs == Needs::output || F::needs == Needs::inputs_and_output;
  const std::size_t start = run * runs.length;
  const E* a = kInputs ? call.in[0].at<E>(i) + runs.offset(0, run) : nullptr;
  const E* b = kInputs && F::inputs == 2 ? call.in[1].at<E>(i) + runs.offset(1, run) : a;
  const E* y = kOutput ? call.out.at<E>(i) + start : nullptr;
  const E* dy = call.dy.at<E>(i) + start;
  const Lanes<E> real = real_of<E>(F::reals == 0 ? nullptr : call.reals, i);
  for_lanes<E>(runs.length, [&](std::size_t at, std::size_t count) HWY_ATTR {
    const Lanes<E> zero(0.0);
    const Lanes<E> va = kInputs ? operand(a, runs.advances[0], at, count) : zero;
    const Lanes<E> vb = kInputs ? operand(b, runs.advances[F::inputs - 1], at, count) : zero;
    const Lanes<E> vy = kOutput ? load(y + at, count) : zero;
    sink(load(dy + at, count) * slope<F, j>(va, vb, vy, real), at, count);
  });
}

// A stretched operand gets the sum over the elements that it was stretched to, in their order.
template <class F, unsigned j, class E>
void stretched_gradient(const BackwardCall& call, const Runs& runs, std::size_t i, E* dx,
                        bool add) {
  const std::size_t size = call.type->inputs[j].size();
  E* sums = call.workspace->elements<E>(size);
  std::memset(sums, 0, size * sizeof(E));
  for (std::size_t run = 0; run < runs.runs; ++run) {
    E* to = sums + runs.offset(j, run);
    if (runs.advances[j]) {
      for_gradient<F, j, E>(call, runs, i, run,
                            [&](Lanes<E> gradient, std::size_t at, std::size_t count)
                                HWY_ATTR { put(gradient, to + at, count, true); });
    } else {
      alignas(64) E zeros[Lanes<E>::size] = {};
      Lanes<E> total = Lanes<E>::load(zeros);
      for_gradient<F, j, E>(call, runs, i, run,
                            [&](Lanes<E> gradient, std::size_t, std::size_t count) HWY_ATTR {
                              E buffer[Lanes<E>::size];
                              gradient.store(buffer);
                              total = total + load(buffer, count);  // dead lanes count as zero
                            });
      *to += total.sum();
    }
  }
  for_lanes<E>(size, [&](std::size_t at, std::size_t count)
                         HWY_ATTR { put(load(sums + at, count), dx + at, count, add); });
}

template <class F, unsigned j, class E>
void gradient(const BackwardCall& call, const Runs& runs) {
  if (!call.dx[j].wanted()) return;
  for (std::size_t i = 0; i < call.n; ++i) {
    E* dx = call.dx[j].at<E>(i);
    if (dx == nullptr) continue;
    const bool add = call.dx[j].add[i] != 0;
    if (runs.stretched[j]) {
      stretched_gradient<F, j, E>(call, runs, i, dx, add);
      continue;
    }
    for (std::size_t run = 0; run < runs.runs; ++run) {
      E* to = dx + run * runs.length;
      for_gradient<F, j, E>(call, runs, i, run,
                            [&](Lanes<E> gradient, std::size_t at, std::size_t count)
                                HWY_ATTR { put(gradient, to + at, count, add); });
    }
  }
}

template <class F, class E>
void backward(const BackwardCall& call) {
  const Runs runs(*call.type);
  gradient<F, 0, E>(call, runs);
  if constexpr (F::inputs == 2) gradient<F, 1, E>(call, runs);
}

std::span<const cpu::KernelEntry> elementwise_table() {
  static const auto table = [] {
    std::vector<cpu::KernelEntry> entries;
    ElementwiseFormulas::visit([&]<class F>() {
      entries.push_back(
          {F::name,
           {{forward<F, float>, forward<F, double>}, {backward<F, float>, backward<F, double>}}});
    });
    return entries;
  }();
  return table;
}

}  // namespace dynet_like::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like {
HWY_EXPORT(elementwise_table);
std::span<const cpu::KernelEntry> cpu::elementwise_kernels() {
  return HWY_DYNAMIC_DISPATCH(elementwise_table)();
}
}  // namespace dynet_like
#endif
