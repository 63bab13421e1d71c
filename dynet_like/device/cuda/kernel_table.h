// The launchers that each source file of kernels brings, by the name of their op.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/device/kernel.h"

namespace dynet_like::cuda {

/// What stands for a kernel here launches one or several: it is given a call whose lists (of
/// pointers, integers and reals) lie on the device, while `type`, `in` and `dx` themselves are this
/// process's. Its workspace is Commands.
struct KernelEntry {
  std::string_view op;
  Kernels kernels;
};

std::span<const KernelEntry> attention_kernels();
std::span<const KernelEntry> cell_kernels();
std::span<const KernelEntry> dimension_kernels();
std::span<const KernelEntry> elementwise_kernels();
std::span<const KernelEntry> inner_product_kernels();
std::span<const KernelEntry> loss_kernels();
std::span<const KernelEntry> matrix_kernels();
std::span<const KernelEntry> norm_kernels();
std::span<const KernelEntry> product_kernels();
std::span<const KernelEntry> projection_kernels();
std::span<const KernelEntry> random_kernels();
std::span<const KernelEntry> reduction_kernels();
std::span<const KernelEntry> selection_kernels();
std::span<const KernelEntry> shape_kernels();
std::span<const KernelEntry> softmax_kernels();
std::span<const KernelEntry> source_kernels();
std::span<const KernelEntry> special_function_kernels();

/// All of them together.
std::vector<KernelEntry> all_kernels();

/// The library's ops whose batches run on the CPU, with copies, for want of a kernel here.
std::vector<std::string> ops_without_kernels();

}  // namespace dynet_like::cuda
