// Decides which contributions to a sum are added in place and which wait in slots.
#pragma once

#include <cstdint>

namespace dynet_like::detail {

/// How a contribution reaches its sum. Contributions are summed in the reverse of the order in
/// which they were recorded, whatever the schedule is, so that the bits do not depend on it. Since
/// batches run backward from the last to the first, most come in that order.
enum class Arrival : std::uint8_t {
  written,    ///< in place: the first contribution, or the only one
  added,      ///< in place, to the earlier contributions
  slot,       ///< to a slot, whose numbers are the first of the sum
  added_slot  ///< to a slot, whose numbers are added later
};

inline bool waits(Arrival arrival) { return arrival >= Arrival::slot; }

/// Call next() for the contributions in the order of addition. Each is computed at a turn.
class SumOrder {
 public:
  /// `begun`: there are numbers before the first contribution.
  explicit SumOrder(bool begun = false) : begun_(begun) {}

  /// A contribution arrives in place if all before it have done so, and at earlier turns.
  Arrival next(std::uint32_t turn) {
    const bool is_first = !begun_;
    begun_ = true;
    waits_ |= turn < next_turn_;
    next_turn_ = turn + 1;
    if (waits_) return is_first ? Arrival::slot : Arrival::added_slot;
    return is_first ? Arrival::written : Arrival::added;
  }
  /// From now on all contributions wait.
  void close() { waits_ = true; }

 private:
  std::uint32_t next_turn_ = 0;
  bool begun_, waits_ = false;
};

}  // namespace dynet_like::detail
