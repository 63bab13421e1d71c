// Users' formulas, step by step, on blocks of elements that stay in the L1 cache.
#include <algorithm>

#include "dynet_like/device/cpu/element_functions.h"
#include "dynet_like/device/formula_kernels.h"

namespace dynet_like::detail::cpu {
namespace {

/// Runs a program on one block of elements after the other.
template <class E>
class Evaluation {
 public:
  static constexpr std::size_t kBlock = 1024 / sizeof(E);

  Evaluation(const Formula& formula, const FormulaSteps& program,
             std::span<const ElementFunctions<E>> functions, Workspace& workspace)
      : formula_(formula),
        functions_(functions),
        first_slot_(kNowhere + 1 + formula.constants.size()),
        first_input_(first_slot_ + program.slots),
        first_output_(first_input_ + formula.inputs + formula.outputs),
        first_saved_(first_output_ + formula.outputs),
        places_(workspace.elements<E*>(first_saved_ + formula.saved)),
        steps_(workspace.elements<Step>(program.steps.size())),
        step_count_(program.steps.size()),
        results_(workspace.elements<Result>(program.results.size())) {
    places_[kNowhere] = nullptr;
    auto* own = workspace.elements<E>((first_input_ - 1) * kBlock);
    for (std::size_t i = kNowhere + 1; i < first_input_; ++i, own += kBlock) places_[i] = own;
    for (std::size_t i = 0; i < formula.constants.size(); ++i) {
      std::fill_n(places_[kNowhere + 1 + i], kBlock, static_cast<E>(formula.constants[i]));
    }
    for (std::size_t i = 0; i < step_count_; ++i) steps_[i] = bind(program.steps[i]);
    for (std::size_t j = 0; j < program.results.size(); ++j) {
      const std::uint32_t place = place_of(program.results[j]);
      const bool is_slot = program.results[j].kind == Source::slot;
      const bool again = std::any_of(results_, results_ + j,
                                     [&](const Result& other) { return other.place == place; });
      results_[j] = {place, is_slot && !again ? places_[place] : nullptr};
    }
  }

  /// Sets where input j of the next block lies.
  void set_input(std::size_t j, const E* from) { places_[first_input_ + j] = const_cast<E*>(from); }
  /// Sets where output k of the next block lies, and where the saved numbers lie, `distance` apart.
  /// The forward program writes them, the backward program reads them.
  void set_output(std::size_t k, const E* output) {
    places_[first_output_ + k] = const_cast<E*>(output);
  }
  void set_saved(E* saved, std::size_t distance) {
    for (unsigned k = 0; k < formula_.saved; ++k) places_[first_saved_ + k] = saved + k * distance;
  }

  /// Runs all steps on n elements, at most kBlock.
  void run(std::size_t n) const {
    for (const Step *step = steps_, *end = step + step_count_; step < end; ++step) {
      const FormulaInputs<E> in{places_[step->a], places_[step->b], places_[step->y],
                                places_[step->d]};
      if (step->value != nullptr) {
        step->value(in, places_[step->to], n);
      } else {
        step->gradient(in, places_[step->to], n, false);
      }
    }
  }
  /// Sets the destination of a result of the next block. Unless the result is added, its slot is
  /// placed there directly.
  void place_result(std::size_t j, E* to, bool add) {
    const auto& [place, slot] = results_[j];
    if (slot != nullptr) places_[place] = to == nullptr || add ? slot : to;
  }
  void put(std::size_t j, E* to, bool add, std::size_t n) const {
    const E* const result = places_[results_[j].place];
    if (add) {
      functions_[static_cast<std::size_t>(ops::Function::Add)].value({to, result}, to, n);
    } else if (to != result) {
      std::copy_n(result, n, to);
    }
  }

 private:
  static constexpr std::size_t kNowhere = 0;

  /// The function of a step, and the places of its numbers.
  struct Step {
    decltype(ElementFunctions<E>::value) value;
    void (*gradient)(const FormulaInputs<E>&, E*, std::size_t, bool);
    std::uint32_t a, b, y, d, to;
  };

  struct Result {
    std::uint32_t place;
    E* slot;  ///< its own slot; null if it lies elsewhere or shares a slot with another result
  };

  Step bind(const FormulaStep& step) const {
    const auto& functions = functions_[static_cast<std::size_t>(step.function)];
    const bool is_value = step.part == FormulaStep::value;
    return {is_value ? functions.value : nullptr,
            functions.gradient[step.part == FormulaStep::slope_1],
            place_of(step.a),
            place_of(step.b),
            place_of(step.y),
            place_of(step.d),
            place_of(step.to)};
  }
  std::uint32_t place_of(const Source& source) const {
    // Indexed by Source::Kind.
    const std::size_t first[] = {kNowhere,    first_input_, kNowhere + 1,
                                 first_slot_, first_saved_, first_output_};
    return static_cast<std::uint32_t>(first[source.kind] + source.index);
  }

  const Formula& formula_;
  std::span<const ElementFunctions<E>> functions_;
  // Constants, slots, inputs, outputs and saved numbers, in this order.
  std::size_t first_slot_, first_input_, first_output_, first_saved_;
  E** places_;
  Step* steps_;
  std::size_t step_count_;
  Result* results_;
};

// Whether item i + 1 follows directly on item i in all inputs.
template <class E>
bool go_on(const Operand* in, unsigned inputs, std::size_t i, std::size_t size) {
  for (unsigned j = 0; j < inputs; ++j) {
    if (!goes_on<E>(in[j], i, size)) return false;
  }
  return true;
}

/// Calls f(first item, first element, elements) for blocks of consecutive elements. A block may
/// span items that follow directly on one another, as `goes_on(i)` tells.
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

// Whether item i + 1 follows directly on item i in all that the backward program reads or writes.
template <class E>
bool all_go_on(const BackwardCall& call, std::size_t i) {
  const Formula& formula = formula_of(*call.type);
  const std::size_t size = part_size(*call.type);
  if (formula.outputs > 1 || !goes_on<E>(call.dy, i, size)) return false;
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
  const std::size_t size = part_size(*call.type);
  Evaluation<E> evaluation(formula, formula.forward, functions, *call.workspace);
  // With several outputs or saved numbers per item, items do not follow directly on one another.
  const auto goes_on = [&](std::size_t i) {
    return formula.outputs == 1 && formula.saved <= 1 && detail::goes_on<E>(call.out, i, size) &&
           go_on<E>(call.in, formula.inputs, i, size);
  };
  for_blocks<E>(call.n, size, goes_on, [&](std::size_t i, std::size_t at, std::size_t count) {
    for (unsigned j = 0; j < formula.inputs; ++j) {
      evaluation.set_input(j, call.in[j].at<E>(i) + at);
    }
    for (unsigned k = 0; k < formula.outputs; ++k) {
      evaluation.set_output(k, call.out.at<E>(i * formula.outputs + k) + at);
    }
    if (formula.saved > 0) {
      evaluation.set_saved(static_cast<E*>(call.saved) + i * formula.saved * size + at, size);
    }
    evaluation.run(count);
  });
}

// Items that want no gradient are computed with the others, since they are few.
template <class E>
void program_backward(const BackwardCall& call, std::span<const ElementFunctions<E>> functions) {
  const Formula& formula = formula_of(*call.type);
  const Op& op = *call.type->op;
  const std::size_t size = part_size(*call.type);
  Evaluation<E> evaluation(formula, formula.backward, functions, *call.workspace);
  const auto goes_on = [&](std::size_t i) { return all_go_on<E>(call, i); };
  for_blocks<E>(call.n, size, goes_on, [&](std::size_t i, std::size_t at, std::size_t count) {
    for (unsigned j = 0; op.needs_inputs() && j < formula.inputs; ++j) {
      evaluation.set_input(j, call.in[j].at<E>(i) + at);
    }
    for (unsigned k = 0; k < formula.outputs; ++k) {
      const std::size_t part = i * formula.outputs + k;
      evaluation.set_input(formula.inputs + k, call.dy.at<E>(part) + at);
      if (op.needs_output()) evaluation.set_output(k, call.out.at<E>(part) + at);
    }
    // The backward program only reads them.
    if (formula.saved > 0) evaluation.set_saved(const_cast<E*>(call.saved.at<E>(i)) + at, size);
    const auto place = [&](unsigned j) {
      return call.dx[j].wanted() ? call.dx[j].at<E>(i) : nullptr;
    };
    for (unsigned j = 0; j < formula.inputs; ++j) {
      E* const dx = place(j);
      evaluation.place_result(j, dx == nullptr ? dx : dx + at,
                              dx != nullptr && call.dx[j].add[i] != 0);
    }
    evaluation.run(count);
    for (unsigned j = 0; j < formula.inputs; ++j) {
      E* const dx = place(j);
      if (dx != nullptr) evaluation.put(j, dx + at, call.dx[j].add[i] != 0, count);
    }
  });
}

template void program_forward(const ForwardCall&, std::span<const ElementFunctions<float>>);
template void program_forward(const ForwardCall&, std::span<const ElementFunctions<double>>);
template void program_backward(const BackwardCall&, std::span<const ElementFunctions<float>>);
template void program_backward(const BackwardCall&, std::span<const ElementFunctions<double>>);

}  // namespace dynet_like::detail::cpu
