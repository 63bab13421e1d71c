// MemoryNeeds: bounds the memory that tapes need if they run together, before they are planned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "dynet_like/exec/options.h"
#include "dynet_like/program/recursion_op.h"
#include "dynet_like/tape/tape.h"

namespace dynet_like::detail {

/// An upper bound on the bytes of values, gradients, early products and argument lists, however the
/// nodes are batched. Values that all samples share count once.
class MemoryNeeds {
 public:
  explicit MemoryNeeds(const GraphOptions& options) : options_(options) {}

  /// Adds a tape.
  void add(const Tape& tape);
  /// Removes all tapes; shared values stay counted.
  void start_anew();
  std::size_t bytes() const;

 private:
  struct Consumers {
    std::uint32_t contributions = 0;
    TypeId first_type = 0;
    bool of_one_type = true;
  };
  /// Nodes of a type with products that may run early.
  struct Early {
    std::size_t nodes = 0, levels = 0;
    std::size_t bytes = 0;  ///< of a node's sums and of the places of what they read
    std::size_t bytes_of_lane = 0;
  };

  std::size_t bytes_of_node(const Tape& tape, NodeId node, const NodeType& type) const;
  std::size_t bytes_of_recursion(const Tape& tape, NodeId node, std::size_t of_vertex) const;
  std::size_t bytes_of_batch(const NodeType& type) const;
  std::size_t bytes_of_steps(const RecursionOp& op) const;
  std::size_t bytes_of_contributions(const Tape& tape, NodeId consumer, const NodeType& type) const;
  void count_early(const Tape& tape, NodeId node, bool begins_level);
  std::size_t bytes_of_early() const;
  unsigned lanes() const;
  void count_consumers(const Tape& tape);
  std::uint32_t depth_below(const Tape& tape, NodeId node) const;

  const GraphOptions& options_;
  std::size_t shared_ = 0;   ///< of values that all samples share
  std::size_t nodes_ = 0;    ///< needed by each node
  std::size_t batches_ = 0;  ///< needed once per batch
  std::set<Identity> known_shared_;
  std::set<std::pair<TypeId, std::uint32_t>> levels_;  ///< one batch per type and depth is enough
  std::map<TypeId, Early> early_;
  std::vector<std::uint32_t> depth_;  ///< of the nodes of the tape being added
  std::vector<Consumers> consumers_;  ///< of the nodes of the tape being added
};

}  // namespace dynet_like::detail
