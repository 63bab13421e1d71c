// Collects the kernels of all ops, for the best instruction set of this machine.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/kernel_table.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "dynet_like/device/cpu/kernel_table.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

// The tables of files that are compiled for every instruction set. The others are in cpu.
#define DECLARE(family) std::vector<KernelEntry> family##_kernels();
DECLARE(source)
DECLARE(product)
DECLARE(inner_product)
DECLARE(cell)
DECLARE(attention)
DECLARE(reduction)
DECLARE(norm)
DECLARE(softmax)
DECLARE(copying)
DECLARE(chain)
DECLARE(shape)
DECLARE(random)
DECLARE(elementwise)
#undef DECLARE

std::vector<KernelEntry> all_kernels() {
  using namespace cpu;
  std::vector<KernelEntry> all;
#define ADD(family) \
  for (const KernelEntry& entry : family##_kernels()) all.push_back(entry);
  DYNET_LIKE_KERNEL_FAMILIES(ADD)
#undef ADD
  return all;
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like::detail {
HWY_EXPORT(all_kernels);
std::vector<KernelEntry> cpu::all_kernels() { return HWY_DYNAMIC_DISPATCH(all_kernels)(); }
}  // namespace dynet_like::detail
#endif
