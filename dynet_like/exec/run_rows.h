// Running rows: one kernel call for all of them.
#pragma once

#include <span>

#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// Adds the time in the kernel to `seconds`. `nodes`: for a timeline, how many there are if not as
/// many as items.
void run_forward(RunState& run, const Rows& rows, double& seconds, std::size_t nodes = 0);

/// What a backward pass wants of rows.
struct Wanted {
  std::span<const std::uint32_t> items;  ///< their numbers; all if there are none
  const Destination* dx = nullptr;       ///< by input
  std::span<const NodeRef> owners = {};  ///< whose they are, for checks; none where not a node's
  std::size_t nodes = 0;                 ///< see run_forward
};

/// Does nothing if no contribution is wanted. Counts the call. With verify_batching the items of
/// nodes are compared with calls of their own first. `lists` has the lists of the call.
void run_backward(RunState& run, Queue& queue, const Rows& rows, const Wanted& wanted,
                  TypeCount& counts, Arena& lists);

}  // namespace dynet_like::detail
