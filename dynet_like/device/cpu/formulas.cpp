// Formulas of one's own, step by step, on blocks of elements that stay in the nearest cache.
#include <algorithm>

#include "dynet_like/device/cpu/element_functions.h"
#include "dynet_like/device/formula_kernels.h"

namespace dynet_like::detail::cpu {
namespace {

/// The numbers of a program, one block of elements after the other.
template <class E>
class Evaluation {
 public:
  static constexpr std::size_t kBlock = 1024 / sizeof(E);

  Evaluation(const Formula& formula, const Program& program,
             std::span<const ElementFunctions<E>> functions, Workspace& workspace)
      : program_(program),
        functions_(functions),
        inputs_(workspace.elements<const E*>(formula.inputs + 1)),
        constants_(workspace.elements<E>(formula.constants.size() * kBlock + 1)),
        slots_(workspace.elements<E>(program.slots * kBlock)) {
    for (std::size_t i = 0; i < formula.constants.size(); ++i) {
      std::fill_n(constants_ + i * kBlock, kBlock, static_cast<E>(formula.constants[i]));
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
      const auto& [value, gradient] = functions_[static_cast<std::size_t>(step.function)];
      const FormulaInputs<E> in{at(step.a), at(step.b), at(step.y), at(step.d)};
      if (step.part == FormulaStep::value) {
        value(in, place(step.to), n);
      } else {
        gradient[step.part == FormulaStep::slope_1](in, place(step.to), n, false);
      }
    }
  }
  const E* result(std::size_t j) const { return at(program_.results[j]); }

 private:
  // Of an output, a saved number or a slot.
  E* place(const Source& source) const {
    if (source.kind == Source::slot) return slots_ + source.index * kBlock;
    return source.kind == Source::saved ? saved_ + source.index * distance_ : output_;
  }
  const E* at(const Source& source) const {
    if (source.kind == Source::nowhere) return nullptr;
    if (source.kind == Source::input) return inputs_[source.index];
    if (source.kind == Source::constant) return constants_ + source.index * kBlock;
    return place(source);
  }

  const Program& program_;
  std::span<const ElementFunctions<E>> functions_;
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
      f(i, at, std::min(elements - at, Evaluation<E>::kBlock));
    }
  }
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

}  // namespace

template <class E>
void program_forward(const ForwardCall& call, std::span<const ElementFunctions<E>> functions) {
  const Formula& formula = formula_of(*call.type);
  const std::size_t size = call.type->output_size;
  Evaluation<E> evaluation(formula, formula.forward, functions, *call.workspace);
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

// Items whose gradients are all unwanted are computed with the others: they are few.
template <class E>
void program_backward(const BackwardCall& call, std::span<const ElementFunctions<E>> functions) {
  const Formula& formula = formula_of(*call.type);
  const Op& op = *call.type->op;
  const std::size_t size = call.type->output_size;
  Evaluation<E> evaluation(formula, formula.backward, functions, *call.workspace);
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
      const E* const result = evaluation.result(j);
      const bool add = call.dx[j].add[i] != 0;
      for (std::size_t k = 0; k < count; ++k) dx[at + k] = add ? dx[at + k] + result[k] : result[k];
    }
  });
}

template void program_forward(const ForwardCall&, std::span<const ElementFunctions<float>>);
template void program_forward(const ForwardCall&, std::span<const ElementFunctions<double>>);
template void program_backward(const BackwardCall&, std::span<const ElementFunctions<float>>);
template void program_backward(const BackwardCall&, std::span<const ElementFunctions<double>>);

}  // namespace dynet_like::detail::cpu
