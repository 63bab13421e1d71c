// Kernels of ops without inputs: constants, and rows of tables.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/sources.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/groups-inl.h"
#include "dynet_like/device/cpu/kernel_table.h"

#include <algorithm>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

template <class E>
void constant(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  for (std::size_t i = 0; i < call.n; ++i) {
    std::fill_n(call.out.at<E>(i), size, static_cast<const E*>(call.reals)[i]);
  }
}

template <class E>
void lookup(const ForwardCall& call) {
  constexpr std::size_t kAhead = 8;  // rows are random accesses to memory: prefetch them
  const std::size_t size = call.type->output_size;
  const E* table = call.in[0].at<E>(0);
  const auto row = [&](std::size_t i) { return table + std::size_t{call.integers[i]} * size; };
  for (std::size_t i = 0; i < call.n; ++i) {
    if (i + kAhead < call.n) {
      const char* next = reinterpret_cast<const char*>(row(i + kAhead));
      for (std::size_t at = 0; at < size * sizeof(E); at += 64) __builtin_prefetch(next + at);
    }
    copy_elements(row(i), call.out.at<E>(i), size);
  }
}

// For a table that is not a parameter; gradients of parameters are summed row by row elsewhere.
template <class E>
void lookup_backward(const BackwardCall& call) {
  const std::size_t size = call.type->output_size, table = call.type->inputs[0].size();
  for_gradients<E>(call, 0, [&](std::size_t i, E* to, bool add) DYNET_LIKE_BODY {
    if (!add) std::memset(to, 0, table * sizeof(E));
    put_elements(call.dy.at<E>(i), to + std::size_t{call.integers[i]} * size, size, add);
  });
}

std::vector<KernelEntry> source_kernels() {
  return {{"constant", {{constant<float>, constant<double>}, {}}},
          {"lookup", DYNET_LIKE_KERNELS(lookup, lookup_backward)}};
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
