// Running one batch forward, and what batches of nodes and of cells have in common.
#pragma once

#include <span>

#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// Runs the nodes as one batch: one kernel call. Their inputs must have been computed.
void run_batch(RunState& run, std::span<const NodeRef> members, bool shared);

/// Runs cells of one type: one batch for each of its steps. `last_reads`: of each step, the last
/// step of the plan that reads it, 0 if none does; if given, what nothing outside reads is given
/// back at once.
void run_cells(RunState& run, std::span<const std::uint32_t> cells,
               std::span<const std::uint32_t> last_reads);

/// A batch with room for what it computes.
Batch make_batch(RunState& run, TypeId type, std::uint32_t members, std::uint32_t items,
                 bool shared);
/// Input j of a batch of this type, one argument for all items, as one of its nodes has it; not
/// packed.
Operand shared_operand(const RunState& run, const NodeType& type, NodeRef example, unsigned j);
/// The same, packed if that is worth it for so many items.
Operand packed_operand(RunState& run, const NodeType& type, NodeRef example, unsigned j,
                       std::uint32_t items);
/// The kernel call of a batch whose inputs are known, and the batch's entry into the run.
void run_kernel(RunState& run, Batch& batch);
}  // namespace dynet_like::detail
