// Entering cell types, and taking them into use.
#include "dynet_like/exec/cell_dictionary.h"

#include <algorithm>

#include "dynet_like/core/make_room.h"

namespace dynet_like::detail {

namespace {

constexpr std::size_t kMostDeclared = 256, kMostNames = 4;

}  // namespace

std::span<const std::uint32_t> CellDictionary::declared_of_types(std::uint64_t hash) const {
  const auto known = declared_of_types_.find(hash);
  if (known == declared_of_types_.end()) return {};
  return known->second;
}

std::optional<std::uint32_t> CellDictionary::declare(const CellPattern& pattern,
                                                     const TypeTable& types) {
  if (declared_ == kMostDeclared) return std::nullopt;
  std::uint64_t hash = 0;
  for (TypeId member : pattern.members) hash = add_to_hash(hash, member);
  std::vector<std::uint32_t>& like = declared_of_types_[hash];
  make_room(like);
  const std::uint32_t cell = find_or_add(pattern, types);
  like.push_back(cell);
  ++declared_;
  return cell;
}

void CellDictionary::name(std::uint32_t cell, std::string_view name) {
  std::vector<std::string>& names = names_[cell];
  if (names.size() == kMostNames) return;
  if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
}

std::uint32_t CellDictionary::find_or_add(CellPattern pattern, const TypeTable& types) {
  const auto known = std::find_if(types_.begin(), types_.end(),
                                  [&](const CellType& cell) { return cell.pattern == pattern; });
  const auto cell = static_cast<std::uint32_t>(known - types_.begin());
  if (known != types_.end()) return cell;
  names_.resize(cell + 1);
  types_.push_back(make_cell_type(std::move(pattern), types));
  return cell;
}

bool CellDictionary::use(std::vector<CellPattern> patterns, std::vector<std::uint8_t> loose,
                         const TypeTable& types) {
  loose.resize(types.type_count());
  std::vector<std::uint32_t> in_use;
  std::vector<std::vector<std::uint32_t>> beginning(types.type_count());
  for (CellPattern& pattern : patterns) {
    const std::uint32_t cell = find_or_add(std::move(pattern), types);
    in_use.push_back(cell);
    beginning[types_[cell].pattern.members[0]].push_back(cell);
  }
  const bool is_new = in_use != in_use_ || loose != loose_;
  in_use_ = std::move(in_use);
  beginning_ = std::move(beginning);
  loose_ = std::move(loose);
  return is_new;
}

void CellDictionary::clear() {
  types_.clear();
  names_.clear();
  declared_of_types_.clear();
  declared_ = 0;
  in_use_.clear();
  beginning_.clear();
  loose_.clear();
}

}  // namespace dynet_like::detail
