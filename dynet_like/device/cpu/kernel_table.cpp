// The kernels of all ops.
#include "dynet_like/device/cpu/kernel_table.h"

namespace dynet_like {

std::vector<cpu::KernelEntry> cpu::all_kernels() {
  std::vector<KernelEntry> all;
  for (const auto& table :
       {attention_kernels(), cell_kernels(), dimension_kernels(), elementwise_kernels(),
        inner_product_kernels(), loss_kernels(), matrix_kernels(), norm_kernels(),
        product_kernels(), projection_kernels(), random_kernels(), reduction_kernels(),
        selection_kernels(), shape_kernels(), softmax_kernels(), source_kernels(),
        special_function_kernels()}) {
    all.insert(all.end(), table.begin(), table.end());
  }
  return all;
}

}  // namespace dynet_like
