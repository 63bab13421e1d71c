// The launchers of each source file of kernels, by the name of their op.
#pragma once

#include <string>

#include "dynet_like/device/kernel_entries.h"

namespace dynet_like::detail::cuda {

// On a GPU, functions of the type of kernels are launchers. The lists of their call (pointers,
// integers and reals) lie on the device, while `type`, `in` and `dx` themselves are in memory of
// this process. The call's workspace is Commands.

#define DECLARE(family) std::vector<KernelEntry> family##_kernels();
DYNET_LIKE_KERNEL_FAMILIES(DECLARE)
#undef DECLARE

/// The launchers of an op: those of a class with launch<T>(call), for forward calls and, if the op
/// has inputs, for backward calls.
template <class Op>
Kernels kernels() {
  Kernels kernels{{Op::template launch<float>, Op::template launch<double>}, {}};
  if constexpr (requires(const BackwardCall& call) { Op::template launch<float>(call); }) {
    kernels.backward[0] = Op::template launch<float>;
    kernels.backward[1] = Op::template launch<double>;
  }
  return kernels;
}

/// The launchers of all families.
std::vector<KernelEntry> all_kernels();

/// The ops of the library without a kernel here, whose batches run on the CPU, with copies.
std::vector<std::string> ops_without_kernels();

}  // namespace dynet_like::detail::cuda
