// Ops that are formulas, and the kernels that run their steps.
#pragma once

#include <memory>
#include <string>

#include "dynet_like/device/kernel.h"
#include "dynet_like/ops/formula.h"

namespace dynet_like::detail {

/// All inputs have one shape. A single output has that shape, too; several outputs are parts of one
/// vector, and their number is an attribute.
struct OpOfFormula : Op {
  std::string its_name;
  Formula program;
  Kernels cpu;
};

/// The formula must have at most FormulaSteps::kMostSlots slots.
std::shared_ptr<const OpOfFormula> make_formula_op(std::string name, Formula formula);

/// The kernels of the CPU, for the instruction set in use.
Kernels formula_kernels();
/// The launchers for GPUs, if the library is built with CUDA.
const Kernels* cuda_formula_kernels();

inline const Formula& formula_of(const Signature& type) {
  return static_cast<const OpOfFormula*>(type.op)->program;
}

}  // namespace dynet_like::detail
