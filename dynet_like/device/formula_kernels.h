// The kernels of ops that are formulas: they run the steps that the op has.
#pragma once

#include "dynet_like/device/kernel.h"
#include "dynet_like/ops/formula.h"

namespace dynet_like::detail {

/// The CPU's, for the instruction set that is chosen now.
Kernels formula_kernels();
/// Launchers for GPUs, in a library with CUDA.
const Kernels* cuda_formula_kernels();

inline const Formula& formula_of(const Signature& type) {
  return static_cast<const OpOfFormula*>(type.op)->program;
}

}  // namespace dynet_like::detail
