// The planner's view of a computation graph: node types and edges, nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dynet_like::batching {

/// A DAG in compressed rows. Ids are topologically ordered: every input has a smaller id than its
/// node. It only refers to memory of the caller. Nodes and edges are counted in 32 bits.
struct Dag {
  std::uint32_t type_count = 0;
  std::span<const std::uint32_t> type;         ///< per node, < type_count
  std::span<const std::uint32_t> first_input;  ///< per node, plus an end: index in `inputs`
  std::span<const std::uint32_t> inputs;       ///< producers; a producer may be repeated

  std::size_t size() const { return type.size(); }

  std::span<const std::uint32_t> inputs_of(std::size_t node) const {
    return inputs.subspan(first_input[node], first_input[node + 1] - first_input[node]);
  }
};

}  // namespace dynet_like::batching
