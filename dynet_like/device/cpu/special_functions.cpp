// Elementwise ops that the C++ standard library's functions compute, element by element. They are
// rarely used, so they are not compiled for every instruction set.
#include "dynet_like/device/cpu/element_functions.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/ops/special_formulas.h"

namespace dynet_like::detail {
namespace {

using cpu::FormulaInputs;

struct Loops {
  template <class F, class E>
  static void value(const FormulaInputs<E>& in, E* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      out[i] = formulas::value_of<F>(in.a[i], F::inputs == 2 ? in.b[i] : E(0), in.real);
    }
  }

  template <class F, unsigned j, class E>
  static void gradient(const FormulaInputs<E>& in, E* out, std::size_t n, bool add) {
    constexpr bool reads = formulas::reads_inputs<F>;
    for (std::size_t i = 0; i < n; ++i) {
      const E a = reads ? in.a[i] : E(0), b = reads && F::inputs == 2 ? in.b[i] : E(0);
      const E y = formulas::reads_output<F> ? in.y[i] : E(0);
      const E dx = in.dy[i] * formulas::slope_of<F, j>(a, b, y, in.real);
      out[i] = add ? out[i] + dx : dx;
    }
  }
};

}  // namespace

std::vector<KernelEntry> cpu::special_function_kernels() {
  return formula_entries<Loops, formulas::SpecialFormulas>();
}

}  // namespace dynet_like::detail
