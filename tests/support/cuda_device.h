// The device for tests of GPU code: the emulator or, in a build for GPUs, the first GPU; and the
// order in which the emulator runs threads, which cannot be set on a GPU.
#pragma once

#include <cstdint>

#ifdef DYNET_LIKE_CUDA_HOST
#include "dynet_like/device/cuda/host/order.h"
#endif

namespace dynet_like {

#ifdef DYNET_LIKE_CUDA_HOST

inline constexpr const char* kCudaDevice = "cuda-host";
/// Whether work runs at times that do not depend on speed.
inline constexpr bool kEmulated = true;
/// 0: in ascending order; other numbers: in another order each.
inline void set_thread_order(std::uint64_t number) {
  using detail::cuda::host::Order;
  const Order order = number % 2 == 1 ? Order::descending : Order::random;
  detail::cuda::host::set_schedule({number == 0 ? Order::ascending : order, number + 1});
}

#else

inline constexpr const char* kCudaDevice = "cuda";
inline constexpr bool kEmulated = false;
inline void set_thread_order(std::uint64_t) {}

#endif

}  // namespace dynet_like
