// Entering cell types, and taking them into use.
#include "dynet_like/exec/cell_dictionary.h"

#include <algorithm>

namespace dynet_like::detail {

std::uint32_t CellDictionary::find_or_add(CellPattern pattern, const TypeTable& types) {
  const auto known = std::find_if(types_.begin(), types_.end(),
                                  [&](const CellType& cell) { return cell.pattern == pattern; });
  const auto cell = static_cast<std::uint32_t>(known - types_.begin());
  if (known != types_.end()) return cell;
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
  in_use_.clear();
  beginning_.clear();
  loose_.clear();
}

}  // namespace dynet_like::detail
