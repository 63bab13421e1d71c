// Whether tests are slow: with sanitizers, which also reserve terabytes of addresses, and with GPU
// kernels that run on the CPU.
#pragma once

#include <cstdlib>

#include "dynet_like/core/sanitizer.h"
#include "dynet_like/device/device.h"

namespace dynet_like {

/// If true, tests that would take minutes do only a part.
#if defined(DYNET_LIKE_ASAN) || defined(DYNET_LIKE_TSAN)
inline constexpr bool kSlowBuild = true;
#else
inline constexpr bool kSlowBuild = false;
#endif

/// The same, and true for tests on the emulated GPU. Call it after main() has chosen the device.
inline bool runs_slowly() { return kSlowBuild || default_device()->name() == "cuda-host"; }

/// Whether to do everything that takes minutes: DYNET_LIKE_THOROUGH is set.
inline bool is_thorough() {
  static const bool result = std::getenv("DYNET_LIKE_THOROUGH") != nullptr;
  return result;
}

}  // namespace dynet_like
