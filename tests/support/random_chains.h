// Random programs that call random steps many times; a pure function of a seed.
#pragma once

#include <vector>

#include "tests/support/random_graph.h"

namespace dynet_like::testing {

struct RandomChainsOptions {
  unsigned steps = 3;   ///< how many different ones, at most 3
  unsigned calls = 12;  ///< per sample, about
  bool noise = true;    ///< nodes between and inside steps, checks of values with special cases
  bool dropout = true;
  bool regular = false;  ///< the calls are the same in all samples, so that batches are full
};

/// Records the calls of a sample: chains, trees and graphs of steps, whose outputs are read any
/// number of times, with losses in between. `program` determines the steps. Continues from
/// `before`, which must be recorded on the same graph.
RandomGraph record_random_chains(ComputationGraph& graph, const RandomModel& model,
                                 std::uint64_t program, std::uint64_t sample,
                                 const RandomChainsOptions& options,
                                 const RandomGraph& before = {});

}  // namespace dynet_like::testing
