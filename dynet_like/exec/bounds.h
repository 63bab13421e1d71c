// The fewest batches in which the nodes of a run could have run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/core/met_numbers.h"
#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// By type, the largest number of its nodes that ran on one path. `merged`: by type, how it counts.
std::vector<std::uint32_t> longest_chains(const RunState& run,
                                          std::span<const std::uint32_t> merged = {});
/// Saves the bounds of nodes whose values are about to be released. `types` only provides memory.
void count_released_bounds(RunState& run, MetNumbers& types);

}  // namespace dynet_like::detail
