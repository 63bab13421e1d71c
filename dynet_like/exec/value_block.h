// The memory of values that one kernel call has computed, in inference: given back as they are
// forgotten.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// A block of memory, and the batches whose values are its items: one batch, or all that ran in one
/// call.
class ValueBlock {
 public:
  /// The block that has the values of this batch.
  ValueBlock(RunState& run, std::uint32_t batch);

  /// The user gets a tensor that points into it.
  void hand_out() { batches_[0].is_handed_out = true; }
  bool is_empty() const { return members_left() == 0; }
  /// Nothing reads it any more.
  void give_back();
  /// Few values are often left for long, such as those of the best hypothesis of a beam: once half
  /// of the values are forgotten, and then half of the rest, those that are left move together, and
  /// the rest of the memory is given back. Does nothing if the user has a tensor that points into
  /// the block.
  void move_together_if_few();

 private:
  std::uint32_t members_left() const;
  std::size_t items() const { return batches_[0].block_bytes / batches_[0].stride; }
  template <class Visit>
  void for_each_value(const Visit& visit) const;
  void move_together(std::vector<std::uint32_t>& place_of, std::size_t kept);

  RunState& run_;
  std::span<Batch> batches_;
};

}  // namespace dynet_like::detail
