// Formulas of one's own, step by step, on blocks of elements that stay in the nearest cache; and
// functions of spans, which are such steps.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/formulas.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "dynet_like/core/errors.h"
#include "dynet_like/device/cpu/elementwise-inl.h"
#include "dynet_like/device/formula_kernels.h"
#include "dynet_like/device/span_math.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

#define LANE HWY_INLINE
#include "dynet_like/ops/elementwise_formulas.h"
#undef LANE

/// Elements one behind the other, or one that stands for all.
template <class E>
struct Elements {
  const E* from = nullptr;
  bool advances = true;

  template <class T>
  HWY_INLINE T read(std::size_t at, std::size_t count) const {
    return advances ? load_as<T>(from + at, count) : T(static_cast<double>(*from));
  }
};

/// What a step reads.
template <class E>
struct StepInputs {
  Elements<E> a, b, y, d;
};

template <class F, class E>
void block_value(const StepInputs<E>& in, E* out, std::size_t n) {
  for_groups<E>(n, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    const T a = in.a.template read<T>(at, count);
    T b(0);
    if constexpr (F::inputs == 2) b = in.b.template read<T>(at, count);
    store(value<F>(a, b, T(0)), out + at, count);
  });
}

template <class F, unsigned j, class E>
void block_slope(const StepInputs<E>& in, E* out, std::size_t n) {
  for_groups<E>(n, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    T a(0), b(0), y(0);
    if constexpr (uses_inputs<F>) a = in.a.template read<T>(at, count);
    if constexpr (uses_inputs<F> && F::inputs == 2) b = in.b.template read<T>(at, count);
    if constexpr (uses_output<F>) y = in.y.template read<T>(at, count);
    const T d = in.d.template read<T>(at, count);
    store(d * slope<F, j>(a, b, y, T(0)), out + at, count);
  });
}

template <class E>
using BlockFunction = void (*)(const StepInputs<E>&, E*, std::size_t);

template <class F, class E>
constexpr BlockFunction<E> second_slope() {
  if constexpr (F::inputs == 2) return block_slope<F, 1, E>;
  return nullptr;
}

template <class E>
BlockFunction<E> block_function(ops::Function function, FormulaStep::Part part) {
#define DYNET_LIKE_ROW(F) {block_value<F, E>, block_slope<F, 0, E>, second_slope<F, E>()},
  static constexpr BlockFunction<E> table[][3] = {DYNET_LIKE_FORMULA_FUNCTIONS(DYNET_LIKE_ROW)};
#undef DYNET_LIKE_ROW
  return table[static_cast<std::size_t>(function)][part];
}

/// The numbers of a program, one block of elements after the other.
template <class E>
class Evaluation {
 public:
  static constexpr std::size_t kBlock = 1024 / sizeof(E);

  Evaluation(const Formula& formula, const Program& program, Workspace& workspace)
      : program_(program),
        inputs_(workspace.elements<const E*>(formula.inputs + 1)),
        constants_(workspace.elements<E>(formula.constants.size() + 1)),
        slots_(workspace.elements<E>(program.slots * kBlock)) {
    for (std::size_t i = 0; i < formula.constants.size(); ++i) {
      constants_[i] = static_cast<E>(formula.constants[i]);
    }
  }

  /// Where input j of the next block lies.
  void set_input(std::size_t j, const E* from) { inputs_[j] = from; }
  /// Where the output of the next block lies, and what is saved, one number at this distance from
  /// the other. The forward program writes there, the backward program reads.
  void set_output(E* output) { output_ = output; }
  void set_saved(E* saved, std::size_t distance) {
    saved_ = saved;
    distance_ = distance;
  }

  /// All steps on n elements, at most kBlock.
  void run(std::size_t n) const {
    for (const FormulaStep& step : program_.steps) {
      const StepInputs<E> in{at(step.a), at(step.b), at(step.y), at(step.d)};
      block_function<E>(step.function, step.part)(in, place(step.to), n);
    }
  }
  Elements<E> result(std::size_t j) const { return at(program_.results[j]); }

 private:
  // Of an output, a saved number or a slot.
  E* place(const Source& source) const {
    if (source.kind == Source::slot) return slots_ + source.index * kBlock;
    return source.kind == Source::saved ? saved_ + source.index * distance_ : output_;
  }
  Elements<E> at(const Source& source) const {
    if (source.kind == Source::nowhere) return {};
    if (source.kind == Source::input) return {inputs_[source.index], true};
    if (source.kind == Source::constant) return {constants_ + source.index, false};
    return {place(source), true};
  }

  const Program& program_;
  const E** inputs_;
  E *constants_, *slots_, *output_ = nullptr, *saved_ = nullptr;
  std::size_t distance_ = 0;
};

// Whether item i + 1 goes on where item i ends, of all inputs.
template <class E>
bool go_on(const Operand* in, unsigned inputs, std::size_t i, std::size_t size) {
  for (unsigned j = 0; j < inputs; ++j) {
    if (!goes_on<E>(in[j], i, size)) return false;
  }
  return true;
}

/// Calls f(first item, first element, elements) for blocks of elements that lie one behind the
/// other: those of items that go on where the one before ends, as `goes_on(i)` says.
template <class E, class GoesOn, class F>
void for_blocks(std::size_t n, std::size_t size, const GoesOn& goes_on, const F& f) {
  for (std::size_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && goes_on(end - 1); ++end) continue;
    const std::size_t elements = (end - i) * size;
    for (std::size_t at = 0; at < elements; at += Evaluation<E>::kBlock) {
      f(i, at, HWY_MIN(elements - at, Evaluation<E>::kBlock));
    }
  }
}

template <class E>
void formula_forward(const ForwardCall& call) {
  const Formula& formula = formula_of(*call.type);
  const std::size_t size = call.type->output_size;
  Evaluation<E> evaluation(formula, formula.forward, *call.workspace);
  // Several saved numbers lie one behind the other in every item, so that none goes on.
  const auto goes_on = [&](std::size_t i) {
    return formula.saved <= 1 && go_on<E>(call.in, formula.inputs, i, size);
  };
  for_blocks<E>(call.n, size, goes_on, [&](std::size_t i, std::size_t at, std::size_t count) {
    for (unsigned j = 0; j < formula.inputs; ++j) {
      evaluation.set_input(j, call.in[j].at<E>(i) + at);
    }
    evaluation.set_output(static_cast<E*>(call.out) + i * size + at);
    if (formula.saved > 0) {
      evaluation.set_saved(static_cast<E*>(call.saved) + i * formula.saved * size + at, size);
    }
    evaluation.run(count);
  });
}

// Whether item i + 1 goes on where item i ends, wherever the backward program reads or writes.
template <class E>
bool all_go_on(const BackwardCall& call, std::size_t i) {
  const Formula& formula = formula_of(*call.type);
  const std::size_t size = call.type->output_size;
  if (!goes_on<E>(call.dy, i, size)) return false;
  if (call.type->op->needs_inputs() && !go_on<E>(call.in, formula.inputs, i, size)) return false;
  if (call.type->op->needs_output() && !goes_on<E>(call.out, i, size)) return false;
  if (formula.saved > 1 || (formula.saved == 1 && !goes_on<E>(call.saved, i, size))) return false;
  for (unsigned j = 0; j < formula.inputs; ++j) {
    const Destination& dx = call.dx[j];
    if (!dx.wanted() || (dx.at<E>(i) == nullptr && dx.at<E>(i + 1) == nullptr)) continue;
    if (dx.at<E>(i) == nullptr || !goes_on<E>(dx, i, size)) return false;
  }
  return true;
}

// Items whose gradients are all unwanted are computed with the others: they are few.
template <class E>
void formula_backward(const BackwardCall& call) {
  const Formula& formula = formula_of(*call.type);
  const Op& op = *call.type->op;
  const std::size_t size = call.type->output_size;
  Evaluation<E> evaluation(formula, formula.backward, *call.workspace);
  const auto goes_on = [&](std::size_t i) { return all_go_on<E>(call, i); };
  for_blocks<E>(call.n, size, goes_on, [&](std::size_t i, std::size_t at, std::size_t count) {
    for (unsigned j = 0; op.needs_inputs() && j < formula.inputs; ++j) {
      evaluation.set_input(j, call.in[j].at<E>(i) + at);
    }
    evaluation.set_input(formula.inputs, call.dy.at<E>(i) + at);
    // Places that the backward program only reads.
    if (op.needs_output()) evaluation.set_output(const_cast<E*>(call.out.at<E>(i)) + at);
    if (formula.saved > 0) evaluation.set_saved(const_cast<E*>(call.saved.at<E>(i)) + at, size);
    evaluation.run(count);
    for (unsigned j = 0; j < formula.inputs; ++j) {
      E* const dx = call.dx[j].wanted() ? call.dx[j].at<E>(i) : nullptr;
      if (dx == nullptr) continue;
      const Elements<E> result = evaluation.result(j);
      put_groups(count, dx + at, call.dx[j].add[i] != 0,
                 [&]<class T>(std::size_t from, std::size_t lanes)
                     DYNET_LIKE_BODY { return result.template read<T>(from, lanes); });
    }
  });
}

Kernels chosen_formula_kernels() {
  return {{formula_forward<float>, formula_forward<double>},
          {formula_backward<float>, formula_backward<double>}};
}

void apply_to_floats(ops::Function function, const float* x, float* y, std::size_t n) {
  block_function<float>(function, FormulaStep::value)({{x, true}, {}, {}, {}}, y, n);
}
void apply_to_doubles(ops::Function function, const double* x, double* y, std::size_t n) {
  block_function<double>(function, FormulaStep::value)({{x, true}, {}, {}, {}}, y, n);
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like {

namespace detail {
HWY_EXPORT(chosen_formula_kernels);
HWY_EXPORT(apply_to_floats);
HWY_EXPORT(apply_to_doubles);

Kernels formula_kernels() { return HWY_DYNAMIC_DISPATCH(chosen_formula_kernels)(); }

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
DYNET_LIKE_SPAN_FUNCTION(logistic, Logistic)
#undef DYNET_LIKE_SPAN_FUNCTION
}  // namespace ops

}  // namespace dynet_like
#endif
