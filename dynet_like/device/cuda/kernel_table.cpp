// Collects the launchers of all ops.
#include "dynet_like/device/cuda/kernel_table.h"

#include <algorithm>

#include "dynet_like/ops/structured.h"

namespace dynet_like::detail {

std::vector<KernelEntry> cuda::all_kernels() {
  std::vector<KernelEntry> all;
#define ADD(family) \
  for (const KernelEntry& entry : family##_kernels()) all.push_back(entry);
  DYNET_LIKE_KERNEL_FAMILIES(ADD)
#undef ADD
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
    if (!found && !op->is_stored()) names.emplace_back(op->name);
  }
  return names;
}

}  // namespace dynet_like::detail
