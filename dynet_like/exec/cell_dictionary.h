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

namespace dynet_like::detail {

/// Read by all lanes while they run; changed only between runs. Cell types keep their places.
class CellDictionary {
 public:
  std::size_t size() const { return types_.size(); }
  /// How many of them were not declared.
  std::size_t found() const { return types_.size() - declared_; }
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

  /// A hash, at first 0, of the types of members in their order.
  static std::uint64_t add_to_hash(std::uint64_t hash, TypeId member) {
    hash = (hash ^ member) * 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
    return hash ^ hash >> 32;
  }
  /// The declared cell types whose members have these types.
  std::span<const std::uint32_t> declared_of_types(std::uint64_t hash) const;
  /// One more that is declared. Nothing if there are too many. It is not looked for elsewhere.
  std::optional<std::uint32_t> declare(const CellPattern& pattern, const TypeTable& types);
  /// Adds a name under which a cell type is declared, if it has not many yet.
  void name(std::uint32_t cell, std::string_view name);
  std::span<const std::string> names_of(std::uint32_t cell) const { return names_[cell]; }

  /// From now on these are looked for, the best first, and no others. Returns whether that is new.
  bool use(std::vector<CellPattern> patterns, std::vector<std::uint8_t> loose,
           const TypeTable& types);
  /// The types have other numbers from now on.
  void clear();

 private:
  std::uint32_t find_or_add(CellPattern pattern, const TypeTable& types);

  std::deque<CellType> types_;
  std::vector<std::vector<std::string>> names_;  ///< by cell type
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> declared_of_types_;
  std::size_t declared_ = 0;
  std::vector<std::uint32_t> in_use_;
  std::vector<std::vector<std::uint32_t>> beginning_;
  std::vector<std::uint8_t> loose_;
};

}  // namespace dynet_like::detail
