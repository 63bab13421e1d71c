// The cell types that were found so far, by the type of their first node.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "dynet_like/exec/cell_type.h"

namespace dynet_like::detail {

/// Read by all lanes while they run; changed only between runs. Cell types keep their places.
class CellDictionary {
 public:
  std::size_t size() const { return types_.size(); }
  /// Whether there is none to look for.
  bool empty() const { return in_use_.empty(); }
  const CellType& operator[](std::uint32_t cell) const { return types_[cell]; }

  /// The best first.
  std::span<const std::uint32_t> in_use() const { return in_use_; }
  /// Those in use that begin with a node of this type, the best first.
  std::span<const std::uint32_t> beginning_with(TypeId type) const {
    if (type >= beginning_.size()) return {};
    return beginning_[type];
  }
  /// Whether nodes of this type may lie between those of a cell without being of it.
  bool is_loose(TypeId type) const { return type < loose_.size() && loose_[type] != 0; }

  /// From now on these are looked for, the best first, and no others. Returns whether that is new.
  bool use(std::vector<CellPattern> patterns, std::vector<std::uint8_t> loose,
           const TypeTable& types);
  /// The types have other numbers from now on.
  void clear();

 private:
  std::uint32_t find_or_add(CellPattern pattern, const TypeTable& types);

  std::deque<CellType> types_;
  std::vector<std::uint32_t> in_use_;
  std::vector<std::vector<std::uint32_t>> beginning_;
  std::vector<std::uint8_t> loose_;
};

}  // namespace dynet_like::detail
