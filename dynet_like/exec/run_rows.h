// Runs rows: one kernel call for all of them.
#pragma once

#include <span>

#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// Adds the time in the kernel to `seconds`. `nodes`: their number, for a timeline, if it differs
/// from the number of items.
void run_forward(RunState& run, const Rows& rows, double& seconds, std::size_t nodes = 0);

/// Runs their early products (see Rows::early).
void run_early(RunState& run, const Rows& rows, double& seconds);

/// The results that a backward pass wants of rows.
struct Wanted {
  std::span<const std::uint32_t> items;  ///< their numbers; empty means all items
  const Destination* dx = nullptr;       ///< by input
  std::span<const NodeRef> owners = {};  ///< the items' nodes, for checks; empty if they are none
  std::size_t nodes = 0;                 ///< see run_forward
  bool early = false;                    ///< those of early products, after all others
};

/// Does nothing if no contribution is wanted. Counts the call. With verify_batching, items of nodes
/// are first compared with calls of one item each. The call's lists are allocated from `lists`.
void run_backward(RunState& run, Queue& queue, const Rows& rows, const Wanted& wanted,
                  TypeCount& counts, Arena& lists);

}  // namespace dynet_like::detail
