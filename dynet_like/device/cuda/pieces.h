// Many ranges of numbers in one launch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/device/cuda/commands.h"

namespace dynet_like::detail::cuda {

/// One of several things that lie side by side, and where it begins: at its first block if they
/// share a launch.
template <class Thing>
struct Piece {
  Thing thing;
  std::size_t begin;
};

/// The index of the piece at a place: the last one that begins there or before.
template <class Thing>
__device__ unsigned find_piece(const Piece<Thing>* list, unsigned count, std::size_t at) {
  unsigned first = 0;
  while (count > 1) {
    const unsigned half = count / 2;
    if (list[first + half].begin <= at)
      first += half, count -= half;
    else
      count = half;
  }
  return first;
}

/// The pieces of a launch on the device, with as many blocks as they need.
template <class Thing>
struct Pieces {
  const Piece<Thing>* list;
  unsigned count, blocks;
};
template <class Thing>
__device__ const Piece<Thing>& piece_of_block(const Pieces<Thing>& pieces, std::size_t block) {
  wait_for_earlier();
  return pieces.list[find_piece(pieces.list, pieces.count, block)];
}

template <class Thing, class BlocksOf>
Pieces<Thing> stage_pieces(Commands& commands, std::span<const Thing> things,
                           const BlocksOf& blocks_of) {
  std::vector<Piece<Thing>> pieces;
  std::size_t blocks = 0;
  for (const Thing& thing : things) {
    const std::size_t own = blocks_of(thing);
    if (own > 0) pieces.push_back({thing, blocks});
    blocks += own;
  }
  return {commands.stage(pieces.data(), pieces.size()), static_cast<unsigned>(pieces.size()),
          static_cast<unsigned>(blocks)};
}

inline std::size_t count_blocks(std::size_t elements, std::size_t per_block) {
  return (elements + per_block - 1) / per_block;
}

template <class F>
auto with_type(DType dtype, const F& f) {
  return dtype == DType::f32 ? f(float()) : f(double());
}

}  // namespace dynet_like::detail::cuda
