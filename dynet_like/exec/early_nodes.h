// Products of nodes in many small batches, which run once for all of these (see Op::early).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "batching/schedule.h"
#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// For one plan after the other. Keeps its memory.
class EarlyNodes {
 public:
  explicit EarlyNodes(RunState& run) : run_(run) {}

  /// `types`: the number of each node's type among the types `met`.
  void begin(const batching::Schedule& schedule, std::span<const NodeRef> nodes,
             std::span<const std::uint32_t> types, std::span<const std::uint32_t> met);
  /// The sums of the next batch of this type; none if no product is early. Those of all its
  /// batches are computed before the first one, from inputs that are there for all.
  EarlySums next(std::uint32_t type, std::size_t nodes);
  /// Gives back their memory.
  void end();

 private:
  /// A type with narrow batches.
  struct OfType {
    std::size_t nodes = 0, batches = 0;
    std::size_t first = 0, next = 0;  ///< in nodes_: its first node, and that of its next batch
    EarlySums sums;
    std::size_t bytes = 0;  ///< of an item's sums
  };

  bool may_be_early(const OfType& of, std::uint32_t type) const;
  void compute(OfType& of);
  std::uint64_t ready_inputs(std::span<const NodeRef> nodes) const;

  RunState& run_;
  std::vector<OfType> types_;
  std::vector<NodeRef> nodes_;  ///< of narrow types: type after type, batch after batch
};

}  // namespace dynet_like::detail
