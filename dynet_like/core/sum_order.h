// Which contributions to a sum may be added where it lies, and which wait in slots.
#pragma once

#include <cstdint>

namespace dynet_like::detail {

/// Is asked for contributions in the order in which they must be added. Each comes at a turn.
class SumOrder {
 public:
  /// Whether those before it have been added when it comes: all of them in place, at earlier turns.
  bool takes(std::uint32_t turn) {
    if (waits_ || turn < next_) {
      waits_ = true;
      return false;
    }
    next_ = turn + 1;
    return true;
  }
  /// From now on all wait.
  void close() { waits_ = true; }
  bool is_empty() const { return next_ == 0 && !waits_; }

 private:
  std::uint32_t next_ = 0;
  bool waits_ = false;
};

}  // namespace dynet_like::detail
