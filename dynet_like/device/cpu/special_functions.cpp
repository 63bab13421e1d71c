// The elementwise ops that the C++ library's functions compute, element by element: rarely used,
// and not worth code for every instruction set.
#include "dynet_like/device/cpu/elementwise-inl.h"
#include "dynet_like/ops/special_formulas.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

template <class F, class E, class... More>
Lanes<E> by_element(F f, Lanes<E> first, More... more) {
  constexpr std::size_t kCount = 1 + sizeof...(More);
  const Lanes<E> lanes[kCount] = {first, more...};
  E x[kCount][Lanes<E>::size];
  for (std::size_t j = 0; j < kCount; ++j) lanes[j].store(x[j]);
  for (std::size_t i = 0; i < Lanes<E>::size; ++i) {
    x[0][i] = [&]<std::size_t... j>(std::index_sequence<j...>) { return f(x[j][i]...); }
    (std::make_index_sequence<kCount>());
  }
  return Lanes<E>::load(x[0]);
}
template <class F, class E, class... More>
Group<E> by_element(F f, Group<E> first, More... more) {
  return each([&](auto... lanes) { return by_element(f, lanes...); }, first, more...);
}

/// A formula over numbers as one over lanes.
template <class F>
struct ByElement : F {
  template <class... T>
  static auto value(T... x) {
    return by_element([](auto... number) { return F::value(number...); }, x...);
  }
  template <class... T>
  static auto slope_0(T... x) {
    return by_element([](auto... number) { return F::slope_0(number...); }, x...);
  }
  template <class... T>
  static auto slope_1(T... x) {
    return by_element([](auto... number) { return F::slope_1(number...); }, x...);
  }
};

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace dynet_like::detail {
std::span<const cpu::KernelEntry> cpu::special_function_kernels() {
  static const std::vector<KernelEntry> table = [] {
    std::vector<KernelEntry> entries;
    formulas::SpecialFormulas::visit([&]<class F>() {
      entries.push_back(HWY_NAMESPACE::kernel_entry<HWY_NAMESPACE::ByElement<F>>());
    });
    return entries;
  }();
  return table;
}
}  // namespace dynet_like::detail
