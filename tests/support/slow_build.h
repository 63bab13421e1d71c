// What makes tests slow: sanitizers, which take terabytes of addresses besides, and a GPU's kernels
// that the CPU runs.
#pragma once

#include <cstdlib>

#include "dynet_like/core/sanitizer.h"
#include "dynet_like/device/device.h"

namespace dynet_like {

/// What would take minutes is done in part.
#if defined(DYNET_LIKE_ASAN) || defined(DYNET_LIKE_TSAN)
inline constexpr bool kSlowBuild = true;
#else
inline constexpr bool kSlowBuild = false;
#endif

/// The same, also for tests on the emulated GPU. Not before main() has chosen the device.
inline bool runs_slowly() { return kSlowBuild || default_device()->name() == "cuda-host"; }

/// Whether to do all of what takes minutes: DYNET_LIKE_THOROUGH is set.
inline bool is_thorough() {
  static const bool result = std::getenv("DYNET_LIKE_THOROUGH") != nullptr;
  return result;
}

}  // namespace dynet_like
