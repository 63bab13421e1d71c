// Runs rows, of nodes and of recursions alike: one kernel call for all items.
#pragma once

#include <span>

#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// If batches or levels have fewer items than this on average, it is faster to compute their
/// products early: all in one call, whose sums are written and read once more (see Op::early).
inline constexpr std::size_t kNarrow = 8;
/// Whether products should run once for so many calls with so many items in all.
inline bool is_narrow(std::size_t items, std::size_t calls) {
  return calls > 1 && items < kNarrow * calls;
}

/// Counts the call, and adds the time in the kernel. `nodes`: their number, for a timeline, if it
/// differs from the number of items.
void forward_rows(RunState& run, const Rows& rows, TypeCount& counts, std::size_t nodes = 0);
/// The same for their early products (see Rows::early).
void forward_early(RunState& run, const Rows& rows, TypeCount& counts);

/// The results that a backward pass wants of rows.
struct Wanted {
  std::span<const std::uint32_t> items;  ///< their numbers; empty means all items
  const Destination* dx = nullptr;       ///< by input
  std::span<const NodeRef> owners = {};  ///< the items' nodes, for checks; empty if they are none
  std::size_t nodes = 0;                 ///< see forward_rows
  bool early = false;                    ///< those of early products, after all others
};

/// Does nothing if no contribution is wanted. With verify_batching, items of nodes are first
/// compared with calls of one item each. The call's lists are allocated from `lists`.
void backward_rows(RunState& run, Queue& queue, const Rows& rows, const Wanted& wanted,
                   TypeCount& counts, Arena& lists);

/// The packed matrix for input j of nodes of this type, for products with n items, or null if there
/// is none (yet).
const void* packed_matrix(RunState& run, const NodeType& type, unsigned j,
                          const SharedArgument& argument, std::size_t n);

}  // namespace dynet_like::detail
