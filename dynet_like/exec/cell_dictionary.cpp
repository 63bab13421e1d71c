// Entering cell types, and taking them into use.
#include "dynet_like/exec/cell_dictionary.h"

#include <algorithm>

namespace dynet_like {

namespace {

constexpr std::size_t kMostDeclared = 256, kMostNames = 4;

std::uint64_t hash_of(const CellPattern& pattern) {
  std::uint64_t hash = pattern.ports;
  const auto add = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
    hash ^= hash >> 32;
  };
  for (TypeId member : pattern.members) add(member);
  for (const CellInput& input : pattern.inputs) {
    add(static_cast<std::uint64_t>(input.from) | std::uint64_t{input.index} << 8 |
        std::uint64_t{input.offset} << 32);
  }
  return hash;
}

}  // namespace

std::optional<std::uint32_t> CellDictionary::find(const CellPattern& pattern,
                                                  std::uint64_t hash) const {
  const auto [begin, end] = by_hash_.equal_range(hash);
  const auto known = std::find_if(
      begin, end, [&](const auto& entry) { return types_[entry.second].pattern == pattern; });
  if (known == end) return std::nullopt;
  return known->second;
}

std::uint32_t CellDictionary::add(CellPattern pattern, std::uint64_t hash, const TypeTable& types) {
  const auto cell = static_cast<std::uint32_t>(types_.size());
  names_.resize(cell + 1);
  types_.push_back(make_cell_type(std::move(pattern), types));
  by_hash_.emplace(hash, cell);
  return cell;
}

std::optional<std::uint32_t> CellDictionary::declare(const CellPattern& pattern,
                                                     std::string_view name,
                                                     const TypeTable& types) {
  const std::uint64_t hash = hash_of(pattern);
  std::optional<std::uint32_t> cell = find(pattern, hash);
  if (!cell) {
    if (declared_ == kMostDeclared) return std::nullopt;
    cell = add(pattern, hash, types);
    ++declared_;
  }
  std::vector<std::string>& names = names_[*cell];
  if (names.size() < kMostNames && std::find(names.begin(), names.end(), name) == names.end()) {
    names.emplace_back(name);
  }
  return cell;
}

bool CellDictionary::use(std::vector<CellPattern> patterns, std::vector<std::uint8_t> loose,
                         const TypeTable& types) {
  loose.resize(types.type_count());
  std::vector<std::uint32_t> in_use;
  std::vector<std::vector<std::uint32_t>> beginning(types.type_count());
  for (CellPattern& pattern : patterns) {
    const std::uint64_t hash = hash_of(pattern);
    const std::optional<std::uint32_t> known = find(pattern, hash);
    const std::uint32_t cell = known ? *known : add(std::move(pattern), hash, types);
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
  by_hash_.clear();
  declared_ = 0;
  in_use_.clear();
  beginning_.clear();
  loose_.clear();
}

}  // namespace dynet_like
