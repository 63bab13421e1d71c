// Ops that are formulas, and their kernels, which run the steps that the op has.
#pragma once

#include <memory>
#include <string>

#include "dynet_like/device/kernel.h"
#include "dynet_like/ops/formula.h"

namespace dynet_like::detail {

/// All inputs have one shape. So has the output, if there is one; several are parts of a vector,
/// and their number is an attribute.
struct OpOfFormula : Op {
  std::string its_name;
  Formula program;
  Kernels cpu;
};

/// The formula must have at most FormulaSteps::kMostSlots slots.
std::shared_ptr<const OpOfFormula> make_formula_op(std::string name, Formula formula);

/// The CPU's, for the instruction set that is chosen now.
Kernels formula_kernels();
/// Launchers for GPUs, in a library with CUDA.
const Kernels* cuda_formula_kernels();

inline const Formula& formula_of(const Signature& type) {
  return static_cast<const OpOfFormula*>(type.op)->program;
}

}  // namespace dynet_like::detail
