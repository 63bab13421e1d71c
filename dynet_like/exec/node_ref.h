// Nodes of the tapes that run together.
#pragma once

#include <cstdint>

#include "dynet_like/tape/tape.h"

namespace dynet_like::detail {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// A node of one of the tapes. In the list of a batch, `node` is kNone for a reverted node, and
/// `tape` is then its number of items.
struct NodeRef {
  std::uint32_t tape = 0;
  NodeId node = 0;

  bool operator==(const NodeRef&) const = default;
};

}  // namespace dynet_like::detail
