// Makes a report from the counts of a run.
#pragma once

#include <span>

#include "dynet_like/exec/report.h"
#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// A report of all lanes of a run. Seconds in kernels, bytes of gradients and the peak are not
/// filled in.
Report make_report(std::span<const RunState* const> runs, std::span<const RefusedCell> refused);
/// Keeps the bounds of nodes whose values are about to be released.
void count_released_bounds(RunState& run);

}  // namespace dynet_like::detail
