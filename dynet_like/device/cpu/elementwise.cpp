// The elementwise ops whose formulas are written over SIMD lanes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/elementwise.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

#define LANE HWY_INLINE
#include "dynet_like/ops/elementwise_formulas.h"
#undef LANE

std::span<const cpu::KernelEntry> elementwise_table() {
  static const std::vector<cpu::KernelEntry> table = [] {
    std::vector<cpu::KernelEntry> entries;
    ElementwiseFormulas::visit([&]<class F>() { entries.push_back(kernel_entry<F>()); });
    return entries;
  }();
  return table;
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like::detail {
HWY_EXPORT(elementwise_table);
std::span<const cpu::KernelEntry> cpu::elementwise_kernels() {
  return HWY_DYNAMIC_DISPATCH(elementwise_table)();
}
}  // namespace dynet_like::detail
#endif
