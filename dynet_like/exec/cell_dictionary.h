// The cell types that were found so far, by the type of their first node, or declared.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dynet_like/exec/cell_type.h"

namespace dynet_like {

/// Read by all lanes while they run; changed only between runs. Cell types keep their places.
class CellDictionary {
 public:
  std::size_t size() const { return types_.size(); }
  /// How many of them are there not because they were declared.
  std::size_t found() const { return types_.size() - declared_; }
  /// Whether there is none to look for.
  bool empty() const { return in_use_.empty(); }
  const CellType& operator[](std::uint32_t cell) const { return types_[cell]; }

  /// Those in use that begin with a node of this type, the best first.
  std::span<const std::uint32_t> beginning_with(TypeId type) const {
    if (type >= beginning_.size()) return {};
    return beginning_[type];
  }
  /// Whether nodes of this type may lie between those of a cell without being of it.
  bool is_loose(TypeId type) const { return type < loose_.size() && loose_[type] != 0; }

  /// The names under which a cell type was declared, but for all beyond a few.
  std::span<const std::string> names_of(std::uint32_t cell) const { return names_[cell]; }

  /// The type of a cell that was declared, which is entered if it is not there yet. Nothing if too
  /// many were declared. It is not looked for, since it is known where it stands.
  std::optional<std::uint32_t> declare(const CellPattern& pattern, std::string_view name,
                                       const TypeTable& types);
  /// From now on these are looked for, the best first, and no others. Returns whether that is new.
  bool use(std::vector<CellPattern> patterns, std::vector<std::uint8_t> loose,
           const TypeTable& types);
  /// The types have other numbers from now on.
  void clear();

 private:
  std::optional<std::uint32_t> find(const CellPattern& pattern, std::uint64_t hash) const;
  std::uint32_t add(CellPattern pattern, std::uint64_t hash, const TypeTable& types);

  std::deque<CellType> types_;
  std::vector<std::vector<std::string>> names_;  ///< by cell type
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
  std::size_t declared_ = 0;
  std::vector<std::uint32_t> in_use_;
  std::vector<std::vector<std::uint32_t>> beginning_;
  std::vector<std::uint8_t> loose_;
};

}  // namespace dynet_like
