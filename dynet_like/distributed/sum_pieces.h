// The sum of numbers of several shards, in the fixed order of shards.
#pragma once

#include <cstddef>
#include <span>

#include "dynet_like/core/dtype.h"

namespace dynet_like::detail {

/// The numbers of one node of the tree of shards.
struct Piece {
  unsigned level = 0;                 ///< see TreeNode
  const std::byte* values = nullptr;  ///< null: zeros
};

/// Adds up pieces that come in their order: to[i] becomes the sum of number i of all of them. Runs
/// through memory once, in chunks that stay in the cache.
void sum_pieces(DType dtype, std::span<const Piece> pieces, std::byte* to, std::size_t count);

}  // namespace dynet_like::detail
