// The ready nodes of each type, in the order in which they became ready. Internal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "batching/dag.h"
#include "batching/schedule.h"
#include "batching/survey.h"

namespace dynet_like::batching {

/// Ready nodes per type, and the nodes that their execution releases. A batch holds all ready nodes
/// of a type in the order of their release, so that its rows tend to lie in the order of their
/// producers.
class ReadyNodes {
 public:
  /// All data that a release accesses, side by side, because releases jump between samples.
  struct Node {
    std::uint32_t first_consumer;
    std::uint32_t pending;  ///< input edges whose producer has not run
    std::uint32_t type;
    std::uint32_t group;  ///< for the policy's own bookkeeping
  };

  /// Call this before another graph.
  void forget() { knows_consumers_ = false; }

  /// Begins a new plan; `group_of(node, type)` sets the groups. The lists of consumers are made
  /// once per graph.
  template <class GroupOf>
  void reset(const Dag& dag, const Survey& survey, GroupOf group_of);

  /// Calls `on_ready(node record, first of its type)` for every node without inputs.
  template <class OnReady>
  void release_sources(OnReady on_ready);

  /// Appends all ready nodes of a type to the schedule as one batch.
  void take(std::uint32_t type, Schedule& schedule);

  /// Calls `on_ready` for every node that waited only for the batch taken last.
  template <class OnReady>
  void release_consumers(OnReady on_ready);

  std::size_t executed() const { return executed_; }
  std::span<const std::uint32_t> taken() const { return taken_; }

 private:
  /// The part of `pool_` that belongs to a type: [begin, end) is ready and not yet taken.
  struct Queue {
    std::uint32_t begin;
    std::uint32_t end;
  };

  void find_consumers(const Dag& dag);
  template <class OnReady>
  void push(std::uint32_t id, const Node& node, OnReady& on_ready);

  std::vector<Node> nodes_;  ///< plus one, for the end of the last list of consumers
  std::vector<std::uint32_t> consumers_;
  std::vector<std::uint32_t> pool_;
  std::vector<Queue> queues_;
  std::span<const std::uint32_t> taken_;
  std::size_t executed_ = 0;
  bool knows_consumers_ = false;
};

template <class GroupOf>
void ReadyNodes::reset(const Dag& dag, const Survey& survey, GroupOf group_of) {
  const std::size_t size = dag.size();
  executed_ = 0;
  nodes_.resize(size + 1);
  pool_.resize(size);
  queues_.resize(dag.type_count);
  for (std::uint32_t t = 0, begin = 0; t < dag.type_count; begin += survey.members[t++]) {
    queues_[t] = {begin, begin};
  }
  Node* const nodes = nodes_.data();
  std::uint32_t end = 0;
  for (std::uint32_t v = 0; v < size; ++v) {
    const std::uint32_t type = dag.type[v];
    const std::uint32_t pending = dag.first_input[v + 1] - dag.first_input[v];
    end += survey.consumers[v];
    const std::uint32_t first = knows_consumers_ ? nodes[v].first_consumer : end;
    nodes[v] = {first, pending, type, group_of(v, type)};
  }
  nodes[size] = {end, 0, 0, 0};
  if (!knows_consumers_) find_consumers(dag);
}

// Goes backwards, so that each list is in recording order and each cursor ends at its list's begin.
inline void ReadyNodes::find_consumers(const Dag& dag) {
  consumers_.resize(dag.inputs.size());
  Node* const nodes = nodes_.data();
  std::uint32_t* const consumers = consumers_.data();
  const std::uint32_t* const inputs = dag.inputs.data();
  for (std::size_t v = dag.size(); v-- > 0;) {
    for (std::uint32_t e = dag.first_input[v + 1]; e-- > dag.first_input[v];) {
      consumers[--nodes[inputs[e]].first_consumer] = static_cast<std::uint32_t>(v);
    }
  }
  knows_consumers_ = true;
}

template <class OnReady>
inline void ReadyNodes::push(std::uint32_t id, const Node& node, OnReady& on_ready) {
  Queue& queue = queues_[node.type];
  const bool first = queue.begin == queue.end;
  pool_[queue.end++] = id;
  on_ready(node, first);
}

template <class OnReady>
void ReadyNodes::release_sources(OnReady on_ready) {
  for (std::uint32_t v = 0; v + 1 < nodes_.size(); ++v) {
    if (nodes_[v].pending == 0) push(v, nodes_[v], on_ready);
  }
}

inline void ReadyNodes::take(std::uint32_t type, Schedule& schedule) {
  Queue& queue = queues_[type];
  taken_ = std::span<const std::uint32_t>(pool_).subspan(queue.begin, queue.end - queue.begin);
  queue.begin = queue.end;
  std::copy(taken_.begin(), taken_.end(), schedule.nodes.begin() + executed_);
  executed_ += taken_.size();
  schedule.begin.push_back(static_cast<std::uint32_t>(executed_));
}

template <class OnReady>
void ReadyNodes::release_consumers(OnReady on_ready) {
  Node* const nodes = nodes_.data();
  const std::uint32_t* const consumers = consumers_.data();
  for (const std::uint32_t v : taken_) {
    const std::uint32_t end = nodes[v + 1].first_consumer;
    for (std::uint32_t e = nodes[v].first_consumer; e < end; ++e) {
      Node& node = nodes[consumers[e]];
      if (--node.pending == 0) push(consumers[e], node, on_ready);
    }
  }
}

}  // namespace dynet_like::batching
