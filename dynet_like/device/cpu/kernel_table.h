// The kernels that each CPU source file brings, by the name of their op.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "dynet_like/device/queue.h"

namespace dynet_like::cpu {

struct KernelEntry {
  std::string_view op;
  Kernels kernels;
};

// For the best instruction set of this machine, chosen at run time.
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

// The same for every instruction set; part of shape_kernels().
Kernels transpose_kernels();

/// What is no op's kernel, by DType.
struct MatrixFunctions {
  /// A sum of outer products, for the rows [begin, end) of the result; begin is a multiple of
  /// panel_rows.
  void (*add_outer_products[2])(const OuterProducts& call, std::size_t begin, std::size_t end,
                                Workspace& workspace);
  void (*add_all[2])(void* sum, std::size_t begin, std::size_t end, const void* const* dy,
                     std::size_t n, bool fresh);
  /// Elements of a packed matrix, and how it is made.
  std::size_t (*packed_size[2])(std::size_t rows, std::size_t columns, bool transposed);
  void (*pack[2])(const void* matrix, std::size_t rows, std::size_t columns, bool transposed,
                  void* to);
  std::size_t panel_rows[2];
};
const MatrixFunctions& matrix_functions();

}  // namespace dynet_like::cpu
