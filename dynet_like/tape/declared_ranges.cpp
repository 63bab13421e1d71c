// Opening, closing and cutting declared ranges.
#include "dynet_like/tape/declared_ranges.h"

#include <algorithm>

namespace dynet_like::detail {

std::uint32_t DeclaredRanges::number_of(std::string_view name) {
  const auto known = std::find(names_.begin(), names_.end(), name);
  const auto number = static_cast<std::uint32_t>(known - names_.begin());
  if (known == names_.end()) names_.emplace_back(name);
  return number;
}

void DeclaredRanges::close(std::size_t next_node) {
  if (--depth_ > 0) return;
  ranges_.back().end = static_cast<std::uint32_t>(next_node);
  if (ranges_.back().begin == ranges_.back().end) ranges_.pop_back();
}

// A function may revert even what was recorded before it was called: it goes on recording there.
void DeclaredRanges::revert(std::size_t nodes) {
  const auto size = static_cast<std::uint32_t>(nodes);
  const DeclaredRange open = depth_ > 0 ? ranges_.back() : DeclaredRange{};
  if (depth_ > 0) ranges_.pop_back();
  while (!ranges_.empty() && ranges_.back().begin >= size) ranges_.pop_back();
  if (!ranges_.empty()) ranges_.back().end = std::min(ranges_.back().end, size);
  if (depth_ > 0) {
    ranges_.push_back({std::min(open.begin, size), DeclaredRange::kOpen, open.name});
  } else if (ranges_.empty()) {
    names_.clear();
  }
}

std::span<const DeclaredRange> DeclaredRanges::ending_behind(std::uint32_t node) const {
  const auto first =
      std::partition_point(ranges_.begin(), ranges_.end(),
                           [&](const DeclaredRange& range) { return range.end <= node; });
  return {first, ranges_.end()};
}

// If a later range has an edge there, the first that ends behind `a` ends there, too.
bool DeclaredRanges::find_edge_between(std::uint32_t a, std::uint32_t b) const {
  const std::span<const DeclaredRange> ranges = ending_behind(a);
  const auto is_between = [&](std::uint32_t edge) { return a < edge && edge <= b; };
  return !ranges.empty() && (is_between(ranges[0].begin) || is_between(ranges[0].end));
}

}  // namespace dynet_like::detail
