// The types that can follow themselves along a path. Internal.
#pragma once

#include <cstdint>
#include <vector>

#include "batching/dag.h"
#include "batching/survey.h"

namespace dynet_like::batching {

/// The cycles of the graph of types, which has an edge from s to t if some node of type t has an
/// input of type s. A path between two nodes of one type never leaves the cycle (the strongly
/// connected component) of that type, so chains of equal types need only be counted inside.
struct TypeCycles {
  static constexpr std::uint32_t none = UINT32_MAX;

  std::vector<std::uint32_t> cycle;  ///< per type; none if the type cannot follow itself
  std::vector<std::uint32_t> lane;   ///< per type: its number in its cycle; none if not counted
  std::vector<std::uint32_t> lanes;  ///< per cycle: types with a lane
  std::uint32_t most_lanes = 0;      ///< in any cycle
  /// Per type: all types of one cycle have the same number, and the inputs of a type have the same
  /// number or a smaller one.
  std::vector<std::uint32_t> stage;
  std::uint32_t stages_left = 0;  ///< while stages are being assigned

  // Working memory.
  struct Visit {
    std::uint32_t type;
    std::uint32_t next_edge;
  };
  std::vector<std::uint64_t> seen;
  std::vector<std::uint64_t> edges;
  std::vector<std::uint32_t> first_edge;
  std::vector<std::uint32_t> target;
  std::vector<std::uint32_t> index;
  std::vector<std::uint32_t> low;
  std::vector<std::uint32_t> open;
  std::vector<Visit> path;
};

/// Computes `cycles` from the survey of the same graph. A type with a single node needs no lane.
/// O(nodes + edges + types), or O(types + edges between types) if there are no more than 64 types.
void find_type_cycles(const Dag& dag, const Survey& survey, TypeCycles& cycles);

}  // namespace dynet_like::batching
