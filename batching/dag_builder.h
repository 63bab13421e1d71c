// Builds a Dag node by node, for tests, benchmarks and tools.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "batching/dag.h"

namespace dynet_like::batching {

/// Owns the arrays behind a Dag. The type count grows with the largest type seen.
class DagBuilder {
 public:
  /// Appends a node and returns its id. Every input must be an id returned before.
  std::uint32_t add(std::uint32_t type, std::span<const std::uint32_t> inputs) {
    type_.push_back(type);
    type_count_ = std::max(type_count_, type + 1);
    inputs_.insert(inputs_.end(), inputs.begin(), inputs.end());
    first_input_.push_back(static_cast<std::uint32_t>(inputs_.size()));
    return static_cast<std::uint32_t>(type_.size() - 1);
  }

  std::uint32_t add(std::uint32_t type, std::initializer_list<std::uint32_t> inputs = {}) {
    return add(type, std::span<const std::uint32_t>(inputs.begin(), inputs.size()));
  }

  /// The graph so far; valid until the next node is added.
  Dag dag() const { return {type_count_, type_, first_input_, inputs_}; }

 private:
  std::uint32_t type_count_ = 0;
  std::vector<std::uint32_t> type_;
  std::vector<std::uint32_t> first_input_{0};
  std::vector<std::uint32_t> inputs_;
};

}  // namespace dynet_like::batching
