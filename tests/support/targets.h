// Tests of code that is compiled for several instruction sets.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>

namespace dynet_like {

/// Calls f() with every instruction set of this machine.
template <class F>
void with_every_target(const F& f) {
  const auto supported = static_cast<std::uint64_t>(hwy::SupportedTargets());
  for (std::uint64_t allowed = supported; allowed != 0; allowed &= allowed - 1) {
    hwy::GetChosenTarget().Update(static_cast<std::int64_t>(allowed));
    SCOPED_TRACE(hwy::TargetName(static_cast<std::int64_t>(allowed & (~allowed + 1))));
    f();
  }
  hwy::GetChosenTarget().Update(static_cast<std::int64_t>(supported));
}

}  // namespace dynet_like
