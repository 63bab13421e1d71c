// The launchers that each source file of kernels brings, by the name of their op.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/device/kernel.h"
#include "dynet_like/ops/families.h"

namespace dynet_like::detail::cuda {

/// What stands for a kernel here launches one or several: it is given a call whose lists (of
/// pointers, integers and reals) lie on the device, while `type`, `in` and `dx` themselves are this
/// process's. Its workspace is Commands.
struct KernelEntry {
  std::string_view op;
  Kernels kernels;
};

#define DECLARE(family) std::span<const KernelEntry> family##_kernels();
DYNET_LIKE_KERNEL_FAMILIES(DECLARE)
#undef DECLARE

/// All of them together.
std::vector<KernelEntry> all_kernels();

/// The library's ops whose batches run on the CPU, with copies, for want of a kernel here.
std::vector<std::string> ops_without_kernels();

}  // namespace dynet_like::detail::cuda
