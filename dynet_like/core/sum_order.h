// Decides which contributions to a sum are added in place and which wait in slots.
#pragma once

#include <cstdint>

namespace dynet_like::detail {

/// Call takes() for the contributions in the order of addition. Each is computed at a turn.
class SumOrder {
 public:
  /// Whether all contributions before this one have been added, in place and at earlier turns.
  bool takes(std::uint32_t turn) {
    if (waits_ || turn < next_) {
      waits_ = true;
      return false;
    }
    next_ = turn + 1;
    return true;
  }
  /// From now on all contributions wait.
  void close() { waits_ = true; }
  bool is_empty() const { return next_ == 0 && !waits_; }

 private:
  std::uint32_t next_ = 0;
  bool waits_ = false;
};

}  // namespace dynet_like::detail
