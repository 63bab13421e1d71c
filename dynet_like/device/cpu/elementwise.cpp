// The elementwise formulas over SIMD lanes, for every instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/elementwise.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "dynet_like/core/errors.h"
#include "dynet_like/device/cpu/element_functions.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/math-inl.h"
#include "dynet_like/device/formula_kernels.h"
#include "dynet_like/device/span_math.h"
#include "dynet_like/ops/elementwise.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

using cpu::ElementFunctions, cpu::FormulaInputs;

#define LANE HWY_INLINE
#include "dynet_like/ops/elementwise_formulas.h"
#undef LANE

struct Loops {
  template <class F, class E>
  static void value(const FormulaInputs<E>& in, E* out, std::size_t n) {
    for_groups<E>(n, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
      const T a = load_as<T>(in.a + at, count);
      T b(0);
      if constexpr (F::inputs == 2) b = load_as<T>(in.b + at, count);
      store(value_of<F>(a, b, T(in.real)), out + at, count);
    });
  }

  template <class F, unsigned j, class E>
  static void gradient(const FormulaInputs<E>& in, E* out, std::size_t n, bool add) {
    put_groups(n, out, add, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
      T a(0), b(0), y(0);
      if constexpr (reads_inputs<F>) a = load_as<T>(in.a + at, count);
      if constexpr (reads_inputs<F> && F::inputs == 2) b = load_as<T>(in.b + at, count);
      if constexpr (reads_output<F>) y = load_as<T>(in.y + at, count);
      return load_as<T>(in.dy + at, count) * slope_of<F, j>(a, b, y, T(in.real));
    });
  }
};

std::vector<KernelEntry> elementwise_kernels() {
  return cpu::formula_entries<Loops, ElementwiseFormulas>();
}

#define DYNET_LIKE_FUNCTIONS(F) cpu::functions<Loops, F, E>(),
template <class E>
constexpr ElementFunctions<E> kFunctions[] = {DYNET_LIKE_FORMULA_FUNCTIONS(DYNET_LIKE_FUNCTIONS)};
#undef DYNET_LIKE_FUNCTIONS

template <class E>
void run_forward(const ForwardCall& call) {
  cpu::program_forward<E>(call, kFunctions<E>);
}
template <class E>
void run_backward(const BackwardCall& call) {
  cpu::program_backward<E>(call, kFunctions<E>);
}
Kernels program_kernels() {
  return {{run_forward<float>, run_forward<double>}, {run_backward<float>, run_backward<double>}};
}

void apply_to_floats(ops::Function function, const float* x, float* y, std::size_t n) {
  kFunctions<float>[static_cast<std::size_t>(function)].value({x}, y, n);
}
void apply_to_doubles(ops::Function function, const double* x, double* y, std::size_t n) {
  kFunctions<double>[static_cast<std::size_t>(function)].value({x}, y, n);
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like {

namespace detail {
HWY_EXPORT(program_kernels);
HWY_EXPORT(apply_to_floats);
HWY_EXPORT(apply_to_doubles);

Kernels formula_kernels() { return HWY_DYNAMIC_DISPATCH(program_kernels)(); }

namespace {
template <class E>
void apply(const char* name, ops::Function function, std::span<const E> x, std::span<E> y) {
  if (x.size() != y.size()) {
    throw UsageError("[" + std::string(name) + "] need spans of one size; got " +
                     std::to_string(x.size()) + " and " + std::to_string(y.size()));
  }
  if constexpr (sizeof(E) == sizeof(float)) {
    HWY_DYNAMIC_DISPATCH(apply_to_floats)(function, x.data(), y.data(), x.size());
  } else {
    HWY_DYNAMIC_DISPATCH(apply_to_doubles)(function, x.data(), y.data(), x.size());
  }
}
}  // namespace
}  // namespace detail

namespace ops {
#define DYNET_LIKE_SPAN_FUNCTION(name, F)                     \
  void name(std::span<const float> x, std::span<float> y) {   \
    detail::apply<float>(#name, Function::F, x, y);           \
  }                                                           \
  void name(std::span<const double> x, std::span<double> y) { \
    detail::apply<double>(#name, Function::F, x, y);          \
  }
DYNET_LIKE_SPAN_FUNCTION(exp, Exp)
DYNET_LIKE_SPAN_FUNCTION(log, Log)
DYNET_LIKE_SPAN_FUNCTION(tanh, Tanh)
DYNET_LIKE_SPAN_FUNCTION(sigmoid, Sigmoid)
#undef DYNET_LIKE_SPAN_FUNCTION
}  // namespace ops

}  // namespace dynet_like
#endif
