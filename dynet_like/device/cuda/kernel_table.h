// The launchers of each source file of kernels, by the name of their op.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/device/kernel.h"
#include "dynet_like/ops/families.h"

namespace dynet_like::detail::cuda {

/// On a GPU, functions of the type of kernels are launchers. The lists of their call (pointers,
/// integers and reals) lie on the device, while `type`, `in` and `dx` themselves are in memory of
/// this process. The call's workspace is Commands.
struct KernelEntry {
  std::string_view op;
  Kernels kernels;
};

#define DECLARE(family) std::span<const KernelEntry> family##_kernels();
DYNET_LIKE_KERNEL_FAMILIES(DECLARE)
#undef DECLARE

/// The launchers of all families.
std::vector<KernelEntry> all_kernels();

/// The ops of the library without a kernel here, whose batches run on the CPU, with copies.
std::vector<std::string> ops_without_kernels();

}  // namespace dynet_like::detail::cuda
