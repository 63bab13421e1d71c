// Which stretches of a tape a program has declared to be one cell each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dynet_like::detail {

/// Nodes from `begin` up to but not including `end`, while it is open up to the last.
struct DeclaredRange {
  static constexpr std::uint32_t kOpen = ~std::uint32_t{0};
  std::uint32_t begin = 0, end = kOpen;
  std::uint32_t name = 0;
};

/// The outermost ranges, in ascending order and apart from one another. What is opened inside one
/// is a part of it.
class DeclaredRanges {
 public:
  /// The next node is the first of a range.
  void open(std::size_t next_node, std::string_view name) {
    if (depth_ == 0) {
      const auto begin = static_cast<std::uint32_t>(next_node);
      ranges_.push_back({begin, DeclaredRange::kOpen, number_of(name)});
    }
    ++depth_;
  }
  /// Ends what was opened last; allocates nothing.
  void close(std::size_t next_node);
  /// Cuts off the nodes behind the first ones. What is open stays open.
  void revert(std::size_t nodes);

  /// The ranges that hold this node or nodes behind it.
  std::span<const DeclaredRange> ending_behind(std::uint32_t node) const;
  const std::string& name_of(const DeclaredRange& range) const { return names_[range.name]; }
  /// Whether a range begins or ends behind node `a` and before or at node `b`.
  bool has_edge_between(std::uint32_t a, std::uint32_t b) const {
    return !ranges_.empty() && find_edge_between(a, b);
  }

 private:
  std::uint32_t number_of(std::string_view name);
  bool find_edge_between(std::uint32_t a, std::uint32_t b) const;

  std::vector<DeclaredRange> ranges_;
  std::vector<std::string> names_;  ///< few: a program has few kinds of cells
  std::size_t depth_ = 0;
};

}  // namespace dynet_like::detail
