// Depths and counts of a graph, taken in one pass. Internal.
#pragma once

#include <cstdint>
#include <vector>

#include "batching/dag.h"

namespace dynet_like::batching {

/// What most policies want to know about a graph.
struct Survey {
  std::vector<std::uint32_t> depth;      ///< per node: the longest path from a node without inputs
  std::vector<std::uint32_t> consumers;  ///< per node: edges that leave it
  std::vector<std::uint32_t> members;    ///< per type: its nodes
  std::vector<double> mean_depth;        ///< per type: over all its nodes
  /// Per type: bit s is set if a node of it has an input of type s. Empty if there are more types
  /// than bits.
  std::vector<std::uint64_t> input_types;
  std::vector<std::uint64_t> depth_sum;  ///< per type
  std::uint32_t levels = 0;              ///< the largest depth plus one; 0 if there are no nodes
};

void take_survey(const Dag& dag, Survey& survey);

}  // namespace dynet_like::batching
