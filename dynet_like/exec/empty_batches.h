// Batches whose values are all gone, and their removal.
#pragma once

#include <cstddef>

#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// Nodes of the batch no longer name it: another batch may get its number.
void leave_batch(RunState& run, std::size_t batch);

/// When most batches have no values, removes them and renumbers the others. Only in inference,
/// where nothing else refers to batches by number, and between two plans.
void drop_empty_batches(RunState& run);

}  // namespace dynet_like::detail
