// FormulaOp: elementwise ops of your own, defined by a formula.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "dynet_like/graph/expression.h"
#include "dynet_like/ops/formula.h"

namespace dynet_like {

using ops::Term;

namespace detail {

struct FormulaWriter {
  unsigned inputs;
  std::function<Term(std::span<const Term>)> write;
};

/// The formula with its number of terms: the first that it accepts, from sizeof...(Terms) on.
template <class F, class... Terms>
FormulaWriter formula_writer(const F& formula) {
  if constexpr (std::is_invocable_r_v<Term, const F&, Terms...>) {
    return {sizeof...(Terms), [&formula](std::span<const Term> terms) -> Term {
              return [&]<std::size_t... j>(std::index_sequence<j...>) {
                return formula(static_cast<const Terms&>(terms[j])...);
              }
              (std::index_sequence_for<Terms...>());
            }};
  } else {
    static_assert(sizeof...(Terms) < 8, "a formula takes one to eight Terms and returns a Term");
    if constexpr (sizeof...(Terms) < 8) return formula_writer<F, Terms..., Term>(formula);
  }
}

}  // namespace detail

/// An elementwise op of your own. Called with expressions, it records one node.
///
///     const FormulaOp mish("mish", [](Term x) { return x * tanh(softplus(x)); });
///     Expression y = mish(x);
///
/// The formula takes one to eight terms and returns a term; the constructor calls it once. The
/// gradient is derived from it. The op uses the library's SIMD code on the CPU, and runs on GPUs
/// too. All inputs must have the shape of the output, else ShapeError is thrown. Graphs that have
/// used the op do not need this object any more.
class FormulaOp {
 public:
  /// Throws UsageError for a formula that computes nothing, or is too large.
  template <class F>
  FormulaOp(std::string name, const F& formula)
      : FormulaOp(std::move(name), detail::formula_writer<F, Term>(formula)) {}
  FormulaOp(std::string name, const detail::FormulaWriter& formula);
  FormulaOp(const FormulaOp&) = delete;
  FormulaOp& operator=(const FormulaOp&) = delete;

  template <std::same_as<Expression>... X>
  Expression operator()(const X&... x) const {
    return node({x...});
  }
  const ops::Op& op() const { return *op_; }

 private:
  Expression node(std::initializer_list<Expression> inputs) const;

  std::shared_ptr<const ops::Op> op_;
};

}  // namespace dynet_like
