// Decides which values are kept: of all tapes, of single samples, and of reverted nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dynet_like/exec/lanes.h"
#include "dynet_like/exec/results.h"

namespace dynet_like::detail {

/// Forgets values. A forgotten value is computed again when it is requested.
class Liveness {
 public:
  Liveness(CommonState& common, Lanes& lanes, Results& results)
      : common_(common), lanes_(lanes), results_(results) {}

  /// Forgets the values of nodes that belong to one sample; shared values stay.
  void release();
  /// Forgets all values.
  void forget_all();
  /// Changes whenever values are forgotten.
  std::uint64_t forgets() const { return forgets_; }

  /// How much has run, to revert to.
  struct Mark {
    std::uint64_t releases = 0, passes = 0;
    std::uint32_t lane = 0;
    std::size_t batches = 0, nodes = 0;
    Arena::Mark values, lists;
  };
  Mark mark(std::uint32_t tape) const;
  /// Forgets the nodes of a tape from `nodes` on. They must have been recorded after the mark.
  void revert(std::uint32_t tape, std::size_t nodes, const Mark& mark);

  /// In inference, forgets the values of nodes `first` to `end` - 1 of a tape, which nobody will
  /// request. Gives back their memory as soon as the other values of their batches are forgotten.
  /// If some of the nodes were recorded since the tape last ran: see below.
  void forget_values(std::uint32_t tape, std::size_t first, std::size_t end);
  /// In inference: when nodes `first` to `end` - 1 run, their values are freed after their last
  /// reader in that run. Touches nothing but the tape.
  void free_after_last_read(std::uint32_t tape, std::size_t first, std::size_t end);
  /// The same for all nodes of a tape.
  void end_sample(std::uint32_t tape);
  /// The same, and the tape will be recorded anew.
  void forget_tape(std::uint32_t tape);
  void forget_gradients();

 private:
  void keep_shared_batches();
  bool is_good(const Mark& mark, std::size_t lane) const;
  void revert_node(RunState& run, NodeRef ref);

  CommonState& common_;
  Lanes& lanes_;
  Results& results_;
  std::uint64_t releases_ = 0;  ///< marks from before the last release mean the beginning
  std::uint64_t forgets_ = 0;
};

}  // namespace dynet_like::detail
