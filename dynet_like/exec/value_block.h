// The memory of a batch's values, in inference: given back as values are forgotten.
#pragma once

#include <cstdint>
#include <vector>

#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// The memory in which the values of a batch lie, one behind the other.
class ValueBlock {
 public:
  ValueBlock(RunState& run, std::uint32_t batch) : run_(run), index_(batch) {}

  /// Gives back the block. Nothing may read it any more.
  void give_back();
  /// Few values often stay for long, such as those of the best hypothesis of a beam. Once half of
  /// the values are forgotten, and then half of the rest, the remaining ones are moved together,
  /// and the rest of the memory is given back. Does nothing if the user has a tensor that points
  /// into the block.
  void move_together_if_few();

 private:
  Batch& batch() const { return run_.batches[index_]; }
  template <class Visit>
  void for_each_value(const Visit& visit) const;
  void move_together(std::vector<std::uint32_t>& place_of, std::size_t kept);

  RunState& run_;
  std::uint32_t index_;
};

}  // namespace dynet_like::detail
