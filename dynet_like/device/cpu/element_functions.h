// Elementwise formulas over consecutive elements, and the loops over items that call them. Formulas
// are compiled for every instruction set, the loops once.
#pragma once

#include <span>
#include <vector>

#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/kernel.h"

namespace dynet_like::detail::cpu {

/// The inputs of a formula: consecutive elements. A formula ignores those that it does not need.
template <class E>
struct FormulaInputs {
  const E *a = nullptr, *b = nullptr, *y = nullptr, *dy = nullptr;
  E real = 0;
};

/// A formula on n elements: out = f(a, b), and for each input dy * df/dinput, which is written or
/// added to the destination.
template <class E>
struct ElementFunctions {
  void (*value)(const FormulaInputs<E>& in, E* out, std::size_t n) = nullptr;
  void (*gradient[2])(const FormulaInputs<E>& in, E* out, std::size_t n, bool add) = {};
};

/// The kernels of an elementwise op.
template <class E>
void elementwise_forward(const ForwardCall& call, const ElementFunctions<E>& functions);
template <class E>
void elementwise_backward(const BackwardCall& call, const ElementFunctions<E>& functions);

/// The functions of a formula from a class of loops with `value<F, E>` and `gradient<F, j, E>`.
template <class Loops, class F, class E>
constexpr ElementFunctions<E> functions() {
  ElementFunctions<E> result{Loops::template value<F, E>, {Loops::template gradient<F, 0, E>}};
  if constexpr (F::inputs == 2) result.gradient[1] = Loops::template gradient<F, 1, E>;
  return result;
}

template <class Loops, class F, class E>
void formula_forward(const ForwardCall& call) {
  elementwise_forward<E>(call, functions<Loops, F, E>());
}
template <class Loops, class F, class E>
void formula_backward(const BackwardCall& call) {
  elementwise_backward<E>(call, functions<Loops, F, E>());
}

/// The kernels of all ops in a list of formulas.
template <class Loops, class Formulas>
std::vector<KernelEntry> formula_entries() {
  std::vector<KernelEntry> entries;
  Formulas::visit([&]<class F>() {
    entries.push_back({F::name,
                       {{formula_forward<Loops, F, float>, formula_forward<Loops, F, double>},
                        {formula_backward<Loops, F, float>, formula_backward<Loops, F, double>}}});
  });
  return entries;
}

/// The kernels of an op that is a program of formulas. `functions` is indexed by ops::Function.
template <class E>
void program_forward(const ForwardCall& call, std::span<const ElementFunctions<E>> functions);
template <class E>
void program_backward(const BackwardCall& call, std::span<const ElementFunctions<E>> functions);

}  // namespace dynet_like::detail::cpu
