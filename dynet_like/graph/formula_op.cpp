// The facts of ops that are formulas.
#include "dynet_like/graph/formula_op.h"

#include <algorithm>

#include "dynet_like/device/formula_kernels.h"
#include "dynet_like/ops/ops.h"

namespace dynet_like {

using namespace ops;

namespace {

Dim common_shape(std::span<const Dim> inputs, std::span<const std::uint32_t>) {
  for (const Dim& dim : inputs) {
    if (dim != inputs[0]) throw_shape_error("formula", "inputs of one shape", inputs);
  }
  return inputs[0];
}

// What the backward program reads, besides dy, which is one more input.
Needs needs_of(const Formula& formula) {
  bool inputs = false, output = false;
  for (const FormulaStep& step : formula.backward.steps) {
    for (const Source& source : {step.a, step.b, step.y, step.d}) {
      inputs |= source.kind == Source::input && source.index < formula.inputs;
      output |= source.kind == Source::output;
    }
  }
  if (inputs) return output ? Needs::inputs_and_output : Needs::inputs;
  return output ? Needs::output : Needs::nothing;
}

std::size_t saved_size(const Signature& type) {
  return detail::formula_of(type).saved * type.output_size;
}

double formula_cost(const Signature& type) {
  return 4.0 *
         static_cast<double>(detail::formula_of(type).forward.steps.size() * type.output_size);
}

}  // namespace

FormulaOp::FormulaOp(std::string name, const detail::FormulaWriter& formula)
    : name_(std::move(name)), kernels_(detail::formula_kernels()) {
  op_.program = record_formula(name_, formula.inputs, formula.write);
  op_.name = name_;
  op_.min_inputs = op_.max_inputs = formula.inputs;
  op_.shape = common_shape;
  op_.batching.by_column = [](unsigned, unsigned, std::span<const std::uint32_t>) { return true; };
  op_.gradient.needs = needs_of(op_.program);
  op_.gradient.saved_size = saved_size;
  op_.cost = formula_cost;
  op_.kernels = &kernels_;
#ifdef DYNET_LIKE_CUDA
  op_.cuda_kernels = detail::cuda_formula_kernels();
#endif
}

Expression FormulaOp::node(std::initializer_list<Expression> inputs) const {
  return apply_op(op_, inputs);
}

}  // namespace dynet_like
