// Users' formulas, step by step: one thread per element, with all numbers in its own memory.
#include "dynet_like/device/cuda/stretched.h"
#include "dynet_like/device/formula_kernels.h"

namespace dynet_like::detail::cuda {

/// The steps of a program in memory of the device.
struct Steps {
  const FormulaStep* steps;
  unsigned count;
  const Source* results;
  const double* constants;
  unsigned outputs, saved;
};

template <class T>
__device__ T step_value(ops::Function function, T a, T b) {
  const auto value = [&]<class F>(F) {
    if constexpr (F::inputs == 2) {
      return F::value(a, b);
    } else {
      return F::value(a);
    }
  };
  switch (function) {
#define DYNET_LIKE_CASE(F) \
  case ops::Function::F:   \
    return value(formulas::F());
    DYNET_LIKE_FORMULA_FUNCTIONS(DYNET_LIKE_CASE)
#undef DYNET_LIKE_CASE
  }
  return T(0);
}

template <class T>
__device__ T step_slope(ops::Function function, unsigned j, const Numbers<T>& x) {
  switch (function) {
#define DYNET_LIKE_CASE(F) \
  case ops::Function::F:   \
    return slope<formulas::F>(j, x);
    DYNET_LIKE_FORMULA_FUNCTIONS(DYNET_LIKE_CASE)
#undef DYNET_LIKE_CASE
  }
  return T(0);
}

/// The numbers of one element. Inputs and outputs are read and written through `at`.
template <class T, class At>
struct Evaluation {
  const Steps& program;
  const At& at;
  T slots[FormulaSteps::kMostSlots];

  __device__ T read(const Source& source) const {
    switch (source.kind) {
      case Source::nowhere:
        return T(0);
      case Source::constant:
        return static_cast<T>(program.constants[source.index]);
      case Source::slot:
        return slots[source.index];
      default:
        return *at(source);
    }
  }
  __device__ void run() {
    for (unsigned i = 0; i < program.count; ++i) {
      const FormulaStep& step = program.steps[i];
      const T a = read(step.a), b = read(step.b);
      T result;
      if (step.part == FormulaStep::value) {
        result = step_value(step.function, a, b);
      } else {
        const unsigned j = step.part == FormulaStep::slope_0 ? 0 : 1;
        result = read(step.d) * step_slope(step.function, j, Numbers<T>{a, b, read(step.y), T(0)});
      }
      if (step.to.kind == Source::slot) {
        slots[step.to.index] = result;
      } else {
        *const_cast<T*>(at(step.to)) = result;
      }
    }
  }
};

template <class T>
__global__ void formula_forward(Part part, Steps program, const Operand* in, Output out, T* saved) {
  Place place;
  if (!find_element(part, place)) return;
  const auto at = [&](const Source& source) -> const T* {
    if (source.kind == Source::input) return in[source.index].at<T>(place.item) + place.at;
    if (source.kind == Source::output) {
      return output_at<T>(out, place.item * program.outputs + source.index) + place.at;
    }
    return saved + (place.item * program.saved + source.index) * part.size + place.at;
  };
  Evaluation<T, decltype(at)>{program, at, {}}.run();
}

template <class T>
__global__ void formula_backward(Part part, Steps program, unsigned inputs, const Operand* in,
                                 Operand out, Operand saved, Operand dy, const Destination* dx) {
  Place place;
  if (!find_element(part, place)) return;
  const auto at = [&](const Source& source) -> const T* {
    const std::size_t i = place.item, first = i * program.outputs;
    if (source.kind == Source::output) return out.at<T>(first + source.index) + place.at;
    if (source.kind == Source::saved) return saved.at<T>(i) + source.index * part.size + place.at;
    if (source.index < inputs) return in[source.index].at<T>(i) + place.at;
    return dy.at<T>(first + source.index - inputs) + place.at;
  };
  Evaluation<T, decltype(at)> evaluation{program, at, {}};
  evaluation.run();
  for (unsigned j = 0; j < inputs; ++j) {
    const Target<T> target(dx[j], place.item);
    if (target.to != nullptr) target.put(evaluation.read(program.results[j]), place.at);
  }
}

Steps stage(Commands& commands, const Formula& formula, const FormulaSteps& program) {
  return {commands.stage(program.steps.data(), program.steps.size()),
          static_cast<unsigned>(program.steps.size()),
          commands.stage(program.results.data(), program.results.size()),
          commands.stage(formula.constants.data(), formula.constants.size()),
          formula.outputs,
          formula.saved};
}

template <class T>
void launch_formula(const ForwardCall& call) {
  Commands& commands = commands_of(call);
  const Formula& formula = formula_of(*call.type);
  launch_elements(commands, call.n, part_size(*call.type), formula_forward<T>,
                  stage(commands, formula, formula.forward),
                  commands.stage(call.in, formula.inputs), call.out, static_cast<T*>(call.saved));
}

template <class T>
void launch_formula_gradients(const BackwardCall& call) {
  Commands& commands = commands_of(call);
  const Formula& formula = formula_of(*call.type);
  const bool reads_inputs = call.type->op->needs_inputs();
  launch_elements(commands, call.n, part_size(*call.type), formula_backward<T>,
                  stage(commands, formula, formula.backward), formula.inputs,
                  commands.stage(call.in, reads_inputs ? formula.inputs : 0), call.out, call.saved,
                  call.dy, commands.stage(call.dx, formula.inputs));
}

const Kernels& launchers() {
  static const Kernels kernels{{launch_formula<float>, launch_formula<double>},
                               {launch_formula_gradients<float>, launch_formula_gradients<double>}};
  return kernels;
}

}  // namespace dynet_like::detail::cuda

const dynet_like::ops::Kernels* dynet_like::detail::cuda_formula_kernels() {
  return &cuda::launchers();
}
