// The memory for planning, reused from plan to plan. Internal.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "batching/chain_ranks.h"
#include "batching/ready_nodes.h"
#include "batching/schedule.h"
#include "batching/survey.h"
#include "batching/type_cycles.h"

namespace dynet_like::batching {

/// Working memory of the depth policy: nodes sorted by type, then by level.
struct DepthScratch {
  std::vector<std::uint32_t> by_type;
  std::vector<std::uint32_t> offset;
};

/// Working memory of the descent policy, per type or per group (a type and rank).
struct DescentScratch {
  std::vector<std::uint32_t> waiting;      ///< per group: nodes not yet ready
  std::vector<std::uint32_t> first_group;  ///< per type, plus an end
  std::vector<std::uint32_t> top;         ///< per type: one past the group of the largest rank left
  std::vector<std::uint32_t> top_total;   ///< per type: unexecuted nodes of that rank
  std::vector<std::uint32_t> candidates;  ///< types with a ready node
  std::vector<std::uint32_t> place;       ///< per type: its index among the candidates
};

/// Working memory of gather_sinks, per type.
struct SinkScratch {
  std::vector<std::uint32_t> order;  ///< types, ordered so that the inputs of a type come first
  std::vector<std::uint8_t> is_sink;
  std::vector<std::uint32_t> next;
};

/// A type waiting for its turn; the smallest mean depth first, then the smallest type.
using Turn = std::pair<double, std::uint32_t>;

struct Scratch {
  Survey survey;
  TypeCycles cycles;
  ChainRanks ranks;
  ReadyNodes ready;
  DepthScratch depth;
  DescentScratch descent;
  SinkScratch sinks;
  std::vector<Turn> turns;
  std::vector<std::uint8_t> used_levels;  ///< of auto, per type and level: whether it has nodes
  Schedule schedule;
  Schedule alternative;
};

}  // namespace dynet_like::batching
