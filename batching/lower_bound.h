// A lower bound on the number of batches of a graph.
#pragma once

#include <cstdint>
#include <vector>

#include "batching/dag.h"

namespace dynet_like::batching {

/// No schedule has fewer batches than this: the sum over the types of the longest chain of that
/// type. Nodes of one chain never share a batch, and types never do.
std::uint32_t lower_bound(const Dag& dag);

/// Per type, the largest number of its nodes on one path (other types may lie between).
std::vector<std::uint32_t> longest_chains(const Dag& dag);

}  // namespace dynet_like::batching
