// Makes a report from the counts of a run.
#pragma once

#include <iosfwd>
#include <span>
#include <vector>

#include "dynet_like/exec/report.h"
#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// A report of all lanes of a run. Seconds in kernels that are of no type, bytes of gradients and
/// the peak are not filled in.
Report make_report(std::span<const RunState* const> runs);
/// By type, the most of its nodes that ran on one path. `merged`: by type, the type that it counts
/// as.
std::vector<std::uint32_t> longest_chains(const RunState& run,
                                          std::span<const std::uint32_t> merged = {});
/// Times of types, those that took longest first; nothing if no time was measured.
void print_times(std::ostream& out, const Report& report);
/// Keeps the bounds of nodes whose values are about to be released.
void count_released_bounds(RunState& run);

}  // namespace dynet_like::detail
