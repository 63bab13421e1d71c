// Kernels of the elementwise ops whose formulas are written over lanes: here a lane is one number.
#include "dynet_like/device/cuda/elementwise.h"

namespace dynet_like::detail::cuda {

std::span<const KernelEntry> elementwise_kernels() {
  static const auto table = elementwise_entries<formulas::ElementwiseFormulas>();
  return table;
}

}  // namespace dynet_like::detail::cuda
