// The kernels of the CPU by the name of their op, and its other functions.
#pragma once

#include "dynet_like/device/kernel_entries.h"
#include "dynet_like/device/queue.h"

namespace dynet_like::detail::cpu {

/// The kernels of all ops, for the best instruction set of this machine, chosen at run time.
std::vector<KernelEntry> all_kernels();

// Tables of files that are compiled once, for all instruction sets.
std::vector<KernelEntry> matrix_kernels();
std::vector<KernelEntry> dimension_kernels();
std::vector<KernelEntry> selection_kernels();
std::vector<KernelEntry> projection_kernels();
std::vector<KernelEntry> loss_kernels();
std::vector<KernelEntry> special_function_kernels();

// Part of shapes, and of dimension_kernels.
Kernels transpose_kernels();
Kernels logsumexp_kernels();

/// Functions that are not kernels of an op, by DType.
struct MatrixFunctions {
  /// A sum of outer products, for the rows [begin, end) of the result; begin is a multiple of
  /// panel_rows.
  void (*add_outer_products[2])(const OuterProducts& call, std::size_t begin, std::size_t end,
                                Workspace& workspace);
  void (*add_all[2])(void* sum, std::size_t begin, std::size_t end, const void* const* dy,
                     std::size_t n, bool fresh);
  /// The number of elements of a packed matrix, and the function that packs it.
  std::size_t (*packed_size[2])(std::size_t rows, std::size_t columns, bool transposed);
  void (*pack[2])(const void* matrix, std::size_t rows, std::size_t columns, bool transposed,
                  void* to);
  std::size_t panel_rows[2];
};
const MatrixFunctions& matrix_functions();

}  // namespace dynet_like::detail::cpu
