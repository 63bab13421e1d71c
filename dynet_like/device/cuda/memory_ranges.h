// Which memory some calls read or write.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>

namespace dynet_like::detail::cuda {

/// A set of addresses. Neighbours are joined, so the values of a batch are one range.
class MemoryRanges {
 public:
  void add(const std::byte* begin, const std::byte* end) {
    auto next = ends_.upper_bound(begin);
    const bool extends = next != ends_.begin() && std::prev(next)->second >= begin;
    const auto range = extends ? std::prev(next) : ends_.emplace_hint(next, begin, end);
    range->second = std::max(range->second, end);
    while (next != ends_.end() && next->first <= range->second) {
      range->second = std::max(range->second, next->second);
      next = ends_.erase(next);
    }
  }
  bool overlaps(const std::byte* begin, const std::byte* end) const {
    const auto next = ends_.lower_bound(end);
    return next != ends_.begin() && std::prev(next)->second > begin;
  }
  void clear() { ends_.clear(); }

 private:
  std::map<const std::byte*, const std::byte*> ends_;  ///< by begin
};

}  // namespace dynet_like::detail::cuda
