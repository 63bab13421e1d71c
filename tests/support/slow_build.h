// Sanitizers make programs slow and take terabytes of addresses: tests ask whether one is there.
#pragma once

#include "dynet_like/core/sanitizer.h"

namespace dynet_like {

/// What would take minutes is done in part.
#if defined(DYNET_LIKE_ASAN) || defined(DYNET_LIKE_TSAN)
inline constexpr bool kSlowBuild = true;
#else
inline constexpr bool kSlowBuild = false;
#endif

}  // namespace dynet_like
