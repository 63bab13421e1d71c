// A schedule, the result of a policy: batches of nodes, in the order in which they run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dynet_like::batching {

/// Batches in order. The order inside a batch is its memory order.
struct Schedule {
  std::vector<std::uint32_t> nodes;     ///< all nodes, batch after batch
  std::vector<std::uint32_t> begin{0};  ///< batch b is nodes[begin[b], begin[b + 1])
  std::uint32_t bound = 0;              ///< see lower_bound.h; 0 if the policy did not compute it

  /// The number of batches.
  std::size_t size() const { return begin.empty() ? 0 : begin.size() - 1; }

  std::span<const std::uint32_t> batch(std::size_t b) const {
    return std::span(nodes).subspan(begin[b], begin[b + 1] - begin[b]);
  }
};

}  // namespace dynet_like::batching
