// BlockPool: memory that is given back in any order is used again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "dynet_like/core/random.h"
#include "dynet_like/core/block_pool.h"

namespace dynet_like::detail {
namespace {

struct Piece {
  std::byte* begin;
  std::size_t size;
  std::byte value;
};

Piece piece_of(BlockPool& pool, Random& random) {
  const std::size_t size = 1 + random.below(random.below(9) == 0 ? 200000 : 5000);
  Piece piece{pool.allocate(size), size, static_cast<std::byte>(random.below(256))};
  std::fill_n(piece.begin, size, piece.value);
  return piece;
}

bool is_whole(const Piece& piece) {
  return std::all_of(piece.begin, piece.begin + piece.size,
                     [&](std::byte b) { return b == piece.value; });
}

// No two pieces overlap, whatever is given back or rewound.
TEST(BlockPool, RandomCallsHarmNothing) {
  Random random(7);
  for (int round = 0; round < 30; ++round) {
    BlockPool pool(nullptr);
    std::vector<Piece> pieces;
    std::vector<Piece> before_mark;
    Arena::Mark mark;
    bool is_marked = false;
    for (int i = 0; i < 300; ++i) {
      pieces.push_back(piece_of(pool, random));
      if (random.below(2) == 0) {
        const std::size_t k = random.below(pieces.size());
        Piece& piece = pieces[k];
        ASSERT_TRUE(is_whole(piece));
        const std::size_t kept = random.below(3) == 0 ? random.below(piece.size) : 0;
        pool.keep(piece.begin, kept, piece.size);
        piece.size = kept;
        if (kept == 0) pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(k));
      }
      if (!is_marked && random.below(60) == 0) {
        mark = pool.arena().mark();
        before_mark = pieces;
        is_marked = true;
      } else if (is_marked && random.below(60) == 0) {
        // All that was handed out since the mark is given back first, as a graph that goes back
        // does.
        std::erase_if(pieces, [&](const Piece& piece) {
          const bool is_old = std::ranges::any_of(
              before_mark, [&](const Piece& old) { return old.begin == piece.begin; });
          if (!is_old) pool.give_back(piece.begin, piece.size);
          return !is_old;
        });
        pool.rewind(mark);
        is_marked = false;
      }
    }
    for (const Piece& piece : pieces) EXPECT_TRUE(is_whole(piece));
  }
}

// Neighbours become one: pieces of any size fit again.
TEST(BlockPool, GivenBackItIsWholeAgain) {
  BlockPool pool(nullptr);
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 64; ++i) blocks.push_back(pool.allocate(1000));
  const std::size_t used = pool.arena().used();
  std::ranges::shuffle(blocks, std::mt19937(1));
  for (std::byte* block : blocks) pool.give_back(block, 1000);
  EXPECT_EQ(pool.allocate_free(used + 1), nullptr);
  EXPECT_NE(pool.allocate_free(used), nullptr);
  EXPECT_EQ(pool.arena().used(), used);
}

}  // namespace
}  // namespace dynet_like::detail
