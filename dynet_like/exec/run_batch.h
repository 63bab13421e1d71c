// Runs one batch forward.
#pragma once

#include <span>

#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// Runs the nodes as one batch: by one kernel call, or by the programs of recursions. Their inputs
/// must have been computed, and so must `early`.
void run_batch(RunState& run, std::span<const NodeRef> nodes, bool shared, const EarlySums& early);

/// Computes these sums of nodes of one type with one item each.
void run_early_products(RunState& run, std::span<const NodeRef> nodes, const EarlySums& early);

}  // namespace dynet_like::detail
