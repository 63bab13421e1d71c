// Kernels of the elementwise ops whose formulas need the special functions of <cmath>.
#include "dynet_like/device/cuda/elementwise.h"
#include "dynet_like/ops/special_formulas.h"

namespace dynet_like::detail::cuda {

std::span<const KernelEntry> special_function_kernels() {
  static const auto table = elementwise_entries<formulas::SpecialFormulas>();
  return table;
}

}  // namespace dynet_like::detail::cuda
