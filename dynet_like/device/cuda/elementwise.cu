// Kernels of the elementwise ops whose formulas are written over lanes: here a lane is one number.
#include "dynet_like/device/cuda/elementwise.h"

namespace dynet_like::detail::cuda {

std::vector<KernelEntry> elementwise_kernels() {
  return elementwise_entries<formulas::ElementwiseFormulas>();
}

}  // namespace dynet_like::detail::cuda
