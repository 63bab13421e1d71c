// The facts of ops that are formulas.
#include "dynet_like/device/formula_kernels.h"

namespace dynet_like::detail {

namespace {

Dim formula_shape(std::span<const Dim> inputs, std::span<const std::uint32_t> attributes) {
  for (const Dim& dim : inputs) {
    if (dim != inputs[0]) throw_shape_error("formula", "inputs of one shape", inputs);
  }
  return attributes.empty() ? inputs[0] : Dim({attributes[0] * inputs[0].batch_size()});
}

// What the backward steps read, besides the dys, which are additional inputs.
Needs needs_of(const Formula& formula) {
  bool inputs = false, output = false;
  for (const ops::FormulaStep& step : formula.backward.steps) {
    for (const ops::Source& source : {step.a, step.b, step.y, step.d}) {
      inputs |= source.kind == ops::Source::input && source.index < formula.inputs;
      output |= source.kind == ops::Source::output;
    }
  }
  if (inputs) return output ? Needs::inputs_and_output : Needs::inputs;
  return output ? Needs::output : Needs::nothing;
}

}  // namespace

std::shared_ptr<const OpOfFormula> make_formula_op(std::string name, Formula formula) {
  const auto op = std::make_shared<OpOfFormula>();
  op->its_name = std::move(name);
  op->name = op->its_name;
  op->program = std::move(formula);
  op->cpu = formula_kernels();
  op->min_inputs = op->max_inputs = op->program.inputs;
  op->shape = formula_shape;
  op->parts = op->program.outputs;
  op->batching.by_column = [](unsigned, unsigned, std::span<const std::uint32_t>) { return true; };
  op->gradient.needs = needs_of(op->program);
  op->gradient.saved_size = [](const Signature& type) {
    return formula_of(type).saved * part_size(type);
  };
  op->cost = [](const Signature& type) {
    return 4.0 * static_cast<double>(formula_of(type).forward.steps.size() * part_size(type));
  };
  op->kernels = &op->cpu;
#ifdef DYNET_LIKE_CUDA
  op->cuda_kernels = cuda_formula_kernels();
#endif
  return op;
}

}  // namespace dynet_like::detail
