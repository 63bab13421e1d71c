// The kernels that each CPU source file brings, by the name of their op.
#pragma once

#include <span>
#include <string_view>

#include "dynet_like/device/kernel.h"

namespace dynet_like::cpu {

struct KernelEntry {
  std::string_view op;
  Kernels kernels;
};

// For the best instruction set of this machine, chosen at run time.
std::span<const KernelEntry> elementwise_kernels();
std::span<const KernelEntry> product_kernels();
std::span<const KernelEntry> reduction_kernels();
std::span<const KernelEntry> shape_kernels();
std::span<const KernelEntry> softmax_kernels();

/// Sums of many gradients, and of many outer products, for the rows [begin, end) of the result.
struct Accumulators {
  void (*outer_products[2])(void* sum, std::size_t rows, std::size_t begin, std::size_t end,
                            std::size_t columns, const void* const* dy, const void* const* x,
                            std::size_t n);
  void (*all[2])(void* sum, std::size_t begin, std::size_t end, const void* const* dy,
                 std::size_t n);
};
const Accumulators& accumulators();

}  // namespace dynet_like::cpu
