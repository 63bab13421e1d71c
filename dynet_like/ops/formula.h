// Formulas of a user's elementwise ops: written once, over terms, and kept as steps of the
// library's elementwise ops.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "dynet_like/ops/op.h"

namespace dynet_like::ops {

class FormulaRecorder;

/// A number in a formula: an input, a constant, or a result computed from these. The functions are
/// those of expressions, element by element, with the same values and slopes; `*` multiplies
/// numbers. They throw UsageError for constants alone, and for terms of different formulas.
class Term {
 public:
  Term(double constant) : constant_(constant) {}

  friend Term operator-(const Term& x);
  friend Term operator+(const Term& a, const Term& b);
  friend Term operator-(const Term& a, const Term& b);
  friend Term operator*(const Term& a, const Term& b);
  friend Term operator/(const Term& a, const Term& b);

  friend Term exp(const Term& x);
  friend Term log(const Term& x);
  friend Term sqrt(const Term& x);
  friend Term square(const Term& x);
  friend Term abs(const Term& x);
  friend Term tanh(const Term& x);
  friend Term sigmoid(const Term& x);
  friend Term relu(const Term& x);
  friend Term softplus(const Term& x);
  friend Term log_sigmoid(const Term& x);
  friend Term softsign(const Term& x);
  friend Term gelu(const Term& x);

  friend Term min(const Term& a, const Term& b);
  friend Term max(const Term& a, const Term& b);
  friend Term sign(const Term& x);
  friend Term less(const Term& a, const Term& b);
  friend Term less_equal(const Term& a, const Term& b);
  friend Term equal(const Term& a, const Term& b);
  /// a where the condition is not 0, else b.
  friend Term where(const Term& condition, const Term& a, const Term& b);

 private:
  friend class FormulaRecorder;
  Term(std::shared_ptr<FormulaRecorder> recorder, std::uint32_t node)
      : recorder_(std::move(recorder)), node_(node) {}

  std::shared_ptr<FormulaRecorder> recorder_;  ///< null: a constant
  std::uint32_t node_ = 0;
  double constant_ = 0;
};

/// The functions of formulas, named like the library's elementwise formulas. Cheap ones cost no
/// more than reading a number from memory.
#define DYNET_LIKE_CHEAP_FUNCTIONS(X) \
  X(Negate)                           \
  X(Add)                              \
  X(Subtract)                         \
  X(Cmult)                            \
  X(Square)                           \
  X(Abs) X(Relu) X(Min) X(Max) X(Sign) X(Less) X(LessEqual) X(Equal) X(KeepWhere) X(DropWhere)
#define DYNET_LIKE_COSTLY_FUNCTIONS(X) \
  X(Cdiv) X(Exp) X(Log) X(Sqrt) X(Tanh) X(Sigmoid) X(Softplus) X(LogSigmoid) X(Softsign) X(Gelu)
#define DYNET_LIKE_FORMULA_FUNCTIONS(X) DYNET_LIKE_CHEAP_FUNCTIONS(X) DYNET_LIKE_COSTLY_FUNCTIONS(X)
#define DYNET_LIKE_NAME(F) F,
enum class Function : std::uint8_t { DYNET_LIKE_FORMULA_FUNCTIONS(DYNET_LIKE_NAME) };
#undef DYNET_LIKE_NAME
constexpr bool is_costly(Function function) { return function >= Function::Cdiv; }

/// Where a number lies. Slots are the memory of one run. The backward pass can also read the op's
/// outputs and saved numbers; the dys, one for each output, are additional inputs there.
struct Source {
  enum Kind : std::uint8_t { nowhere, input, constant, slot, saved, output };
  Kind kind = nowhere;
  std::uint32_t index = 0;

  bool operator==(const Source&) const = default;
};

/// One step: the value of a function y = f(a, b), or d times one of its slopes.
struct FormulaStep {
  enum Part : std::uint8_t { value, slope_0, slope_1 };
  Function function = Function::Negate;
  Part part = value;
  Source a, b, y, d, to;

  bool operator==(const FormulaStep&) const = default;
};

/// Steps in order, and the number of slots that they use at once.
struct FormulaSteps {
  static constexpr std::uint32_t kMostSlots = 32;
  std::vector<FormulaStep> steps;
  std::vector<Source> results;
  std::uint32_t slots = 0;

  bool operator==(const FormulaSteps&) const = default;
};

/// `forward` computes the values and the numbers to save, `backward` the gradients of all inputs.
/// The outputs of an item lie one behind the other, and so do its saved numbers.
struct Formula {
  unsigned inputs = 0, outputs = 0, saved = 0;
  std::vector<std::uint32_t> output_of;  ///< output of each recorded term; equal terms share
  std::vector<double> constants;
  FormulaSteps forward, backward;

  bool operator==(const Formula&) const = default;
  /// The most numbers at once. Kernels have room for kMostSlots.
  std::uint32_t slots() const { return std::max(forward.slots, backward.slots); }
};

/// Records the formula that `write` builds from the inputs. With `merges_equal` equal steps become
/// one step: their gradients are then added before they are passed on. Throws UsageError, which
/// begins with the name, if a result is not a step.
Formula record_formula(std::string_view name, unsigned inputs,
                       const std::function<std::vector<Term>(std::span<const Term>)>& write,
                       bool merges_equal = true);

/// Applies an elementwise op of the library to terms; `real` is its number, if it has one. Empty if
/// formulas cannot contain the op.
std::optional<Term> apply_elementwise(const Op& op, std::span<const Term> inputs, double real);
bool is_formula_step(const Op& op);

}  // namespace dynet_like::ops

namespace dynet_like::detail {
using ops::Formula, ops::FormulaSteps, ops::Source, ops::FormulaStep;
}  // namespace dynet_like::detail
