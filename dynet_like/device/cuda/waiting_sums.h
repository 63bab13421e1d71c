// Sums that have not been launched, since others may run together with them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dynet_like/device/queue.h"

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

/// One of several sums that run in one launch. Its addends are `count` entries of a common list.
struct SumSegment {
  void* sum = nullptr;
  std::size_t size = 0;
  std::size_t first = 0, count = 0;
  SumStart start = SumStart::there;
};

class WaitingSums {
 public:
  bool is_empty() const { return segments_.empty(); }
  DType dtype() const { return dtype_; }
  /// Whether a sum may run together with those that wait. It must neither read what they write nor
  /// write what they read, its place must be equal to one of theirs or overlap none, and it must
  /// want the earlier addends to its place.
  bool take(DType dtype, const void* sum, std::size_t size, const Addends& addends,
            SumStart start) const;
  /// Adds such a sum.
  void add(DType dtype, void* sum, std::size_t size, const Addends& addends, SumStart start);
  /// The sums, with places in `addends`, which are in the order in which they came.
  std::vector<SumSegment> list(std::vector<const void*>& addends) const;
  /// Keeps the memory.
  void clear();

 private:
  DType dtype_ = DType::f32;
  std::vector<SumSegment> segments_;
  std::vector<std::pair<std::uint32_t, const void*>> addends_;      ///< segment and place
  std::unordered_map<const std::byte*, std::uint32_t> segment_at_;  ///< by place
  MemoryRanges read_, written_;
};

}  // namespace dynet_like::detail::cuda
