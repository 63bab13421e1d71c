// How often types may be called. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "batching/find_words.h"

namespace dynet_like::batching {

/// Per type, the batches that run its nodes: at first as few as possible. Changes are collected and
/// then made or given up together.
class CallBudget {
 public:
  explicit CallBudget(std::span<const TypeFacts> facts);

  std::size_t type_count() const { return types_.size(); }
  /// The fewest batches that run all nodes of the type.
  std::uint32_t need(std::uint32_t type) const { return types_[type].need; }
  bool is_costly(std::uint32_t type) const;

  void change(std::uint32_t type, std::int64_t by) {
    if (types_[type].change == 0) changed_.push_back(type);
    types_[type].change += by;
  }
  /// Whether no type gets too many calls by the collected changes. They are for a merge of symbols
  /// that only stand together (`inseparable`), or of some that also stand elsewhere.
  bool affords(bool inseparable) const;
  /// Makes the collected changes, or gives them up.
  void settle(bool accepted);

 private:
  struct Type {
    std::uint32_t need = 1;
    float cost = 1;
    std::int64_t calls = 1, change = 0;
  };

  std::vector<Type> types_;
  std::vector<std::uint32_t> changed_;
};

}  // namespace dynet_like::batching
