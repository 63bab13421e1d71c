// The kernels of each CPU source file, by the name of their op.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "dynet_like/device/queue.h"
#include "dynet_like/ops/families.h"

namespace dynet_like::detail::cpu {

struct KernelEntry {
  std::string_view op;
  Kernels kernels;
};

// The kernels for the best instruction set of this machine, chosen at run time.
#define DECLARE(family) std::span<const KernelEntry> family##_kernels();
DYNET_LIKE_KERNEL_FAMILIES(DECLARE)
#undef DECLARE

/// The kernels of all families.
std::vector<KernelEntry> all_kernels();

// One version for all instruction sets; part of shape_kernels().
Kernels transpose_kernels();
// Part of dimension_kernels().
Kernels logsumexp_kernels();
// Part of chain_kernels().
Kernels ctc_kernels();

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
