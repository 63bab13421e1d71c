// The launchers of all ops.
#include "dynet_like/device/cuda/kernel_table.h"

#include <algorithm>

#include "dynet_like/ops/structured.h"

namespace dynet_like {

std::vector<cuda::KernelEntry> cuda::all_kernels() {
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

std::vector<std::string> cuda::ops_without_kernels() {
  const std::vector<KernelEntry> all = all_kernels();
  const auto is_complete = [](const Op& op, const Kernels& kernels) {
    const bool has_backward =
        op.max_inputs == 0 || (kernels.backward[0] != nullptr && kernels.backward[1] != nullptr);
    return kernels.forward[0] != nullptr && kernels.forward[1] != nullptr && has_backward;
  };
  std::vector<std::string> names;
  for (const Op* op : all_ops()) {
    const bool found = std::any_of(all.begin(), all.end(), [&](const KernelEntry& entry) {
      return entry.op == op->name && is_complete(*op, entry.kernels);
    });
    if (!found && !ops::is_stored(*op)) names.emplace_back(op->name);
  }
  return names;
}

}  // namespace dynet_like
