// Collects the kernels of all ops.
#include "dynet_like/device/cpu/kernel_table.h"

namespace dynet_like::detail {

std::vector<cpu::KernelEntry> cpu::all_kernels() {
  std::vector<KernelEntry> all;
#define CALL(family) family##_kernels(),
  for (const auto& table : {DYNET_LIKE_KERNEL_FAMILIES(CALL)}) {
#undef CALL
    all.insert(all.end(), table.begin(), table.end());
  }
  return all;
}

}  // namespace dynet_like::detail
