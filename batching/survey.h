// Depths and counts of a graph, computed in one pass. Internal.
#pragma once

#include <cstdint>
#include <vector>

#include "batching/dag.h"

namespace dynet_like::batching {

/// Facts about a graph that most policies need.
struct Survey {
  std::vector<std::uint32_t> depth;      ///< per node: length of the longest path to it
  std::vector<std::uint32_t> consumers;  ///< per node: edges that leave it
  std::vector<std::uint32_t> members;    ///< per type: the number of its nodes
  std::vector<double> mean_depth;        ///< per type: over all its nodes
  /// Per type: bit s is set if a node of the type has an input of type s. Empty if there are more
  /// types than bits.
  std::vector<std::uint64_t> input_types;
  std::vector<std::uint64_t> depth_sum;  ///< per type
  std::uint32_t levels = 0;              ///< the largest depth plus one; 0 if there are no nodes
};

void take_survey(const Dag& dag, Survey& survey);

}  // namespace dynet_like::batching
