// Runs one batch forward.
#pragma once

#include <span>

#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// Runs the nodes as one batch: by one kernel call, or by the programs of recursions. Their inputs
/// must have been computed.
void run_batch(RunState& run, std::span<const NodeRef> nodes, bool shared);

}  // namespace dynet_like::detail
