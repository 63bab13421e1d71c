// Kernels of the elementwise ops whose formulas need the special functions of <cmath>.
#include "dynet_like/device/cuda/elementwise.h"
#include "dynet_like/ops/special_formulas.h"

namespace dynet_like::detail::cuda {

std::vector<KernelEntry> special_function_kernels() {
  return elementwise_entries<formulas::SpecialFormulas>();
}

}  // namespace dynet_like::detail::cuda
