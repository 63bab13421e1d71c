// The rank of every node: the longest chain of its own type towards the outputs. Internal.
#pragma once

#include <cstdint>
#include <vector>

#include "batching/dag.h"
#include "batching/survey.h"
#include "batching/type_cycles.h"

namespace dynet_like::batching {

/// Ranks, and the memory for computing them.
struct ChainRanks {
  /// The number of types of one cycle that one sweep over the graph counts.
  static constexpr std::uint32_t lanes_per_sweep = 32;

  std::vector<std::uint32_t> rank;  ///< per node: nodes of its type on a path from it, with itself
  std::vector<std::uint32_t> longest;  ///< per type: its largest rank; 0 if it has no nodes

  // Working memory.
  struct Role {
    std::uint32_t cycle;
    std::uint32_t lane;
  };
  std::vector<Role> roles;
  std::vector<std::uint32_t> slot;
  std::vector<std::uint32_t> free_slots;
  std::vector<std::int16_t> narrow;
  std::vector<std::int32_t> wide;
};

/// How often find_chain_ranks walks over the graph. Its time is proportional to this.
std::uint32_t sweeps_for(const TypeCycles& cycles);

/// Computes `ranks` from the survey and the cycles of the same graph.
void find_chain_ranks(const Dag& dag, const Survey& survey, const TypeCycles& cycles,
                      ChainRanks& ranks);

}  // namespace dynet_like::batching
