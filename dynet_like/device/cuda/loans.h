// Which bytes of arenas kernels may access: those handed out. Only the emulator checks this.
#pragma once

#include <cstddef>

#if defined(DYNET_LIKE_CUDA_HOST)
#include "dynet_like/device/cuda/host/loans.h"
#else

struct CUstream_st;

namespace dynet_like::detail::cuda {

class Loans {
 public:
  static constexpr std::size_t kGap = 0;
  void lend(const void*, std::size_t) {}
  void take_back(const void*, std::size_t) noexcept {}
  void expect_call(std::size_t) {}
  void begin_late_calls() {}
  void end_late_calls() {}
  void begin_calls() {}
  void end_calls() noexcept {}
};
inline Loans& loans_of(CUstream_st*) {
  static Loans none;
  return none;
}

}  // namespace dynet_like::detail::cuda

#endif
