// Why nodes that look like a cell do not run as one, or not backward as one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "dynet_like/tape/type_table.h"

namespace dynet_like::detail {

enum class CellReason : std::uint8_t {
  none,
  // Found while learning: no cell type is made of these nodes.
  minibatch,  ///< dimension; also found while matching
  argument_of_sample,
  few_alike,
  calls,
  // Found while matching: nodes begin like a cell.
  ops,
  links,
  between,
  checkpoint,
  ended,
  // Found in a backward pass: a cell runs node by node.
  parameter,
  unread,
  constant,
  loss,
  order
};
inline constexpr std::size_t kCellReasons = static_cast<std::size_t>(CellReason::order) + 1;

/// How often each reason was met.
using CellReasonCounts = std::array<std::uint64_t, kCellReasons>;

/// What a user is told.
std::string_view words_of(CellReason reason);

/// A sequence of node types that repeats, of which no cell type was made.
struct RefusedCell {
  std::vector<TypeId> members;
  std::uint64_t times = 0;  ///< among the nodes that were learned from
  CellReason reason = CellReason::none;
};

}  // namespace dynet_like::detail
