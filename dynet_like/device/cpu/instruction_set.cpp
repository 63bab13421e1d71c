// The best instruction set of this machine among those that kernels are compiled for.
#include "dynet_like/device/instruction_set.h"

#include <cstdint>

#include <hwy/highway.h>

namespace dynet_like {

std::string instruction_set() {
  // Better ones have lower bits.
  const auto usable = static_cast<std::uint64_t>(hwy::SupportedTargets() & HWY_TARGETS);
  return hwy::TargetName(static_cast<std::int64_t>(usable & (~usable + 1)));
}

}  // namespace dynet_like
