// Arena and BlockPool: nothing moves or overlaps, and memory that is given back in any order is
// used again.
#include "dynet_like/core/block_pool.h"
#include "tests/support/precompiled.h"

namespace dynet_like::detail {
namespace {

struct Piece {
  std::byte* begin;
  std::size_t size;
  std::byte value;
};

Piece filled(void* begin, std::size_t size, Random& random) {
  Piece piece{static_cast<std::byte*>(begin), size, static_cast<std::byte>(random.below(256))};
  std::fill_n(piece.begin, size, piece.value);
  return piece;
}

bool is_whole(const Piece& piece) {
  return std::all_of(piece.begin, piece.begin + piece.size,
                     [&](std::byte b) { return b == piece.value; });
}

TEST(Arena, NeverMovesAndIsUsedAgain) {
  Arena arena;
  float* first = arena.allocate_array<float>(100);
  std::fill_n(first, 100, 7.0f);
  const Arena::Mark mark = arena.mark();
  for (int i = 0; i < 100; ++i) {
    auto* block = static_cast<std::byte*>(arena.allocate(100000));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0u);
    block[99999] = std::byte{1};
  }
  EXPECT_EQ(first[99], 7.0f);
  const std::size_t capacity = arena.capacity(), peak = arena.peak();
  EXPECT_GE(capacity, 10000000u);
  arena.rewind(mark);
  EXPECT_EQ(arena.used(), 448u);
  arena.reset();
  for (int i = 0; i < 100; ++i) arena.allocate(100000);
  EXPECT_EQ(arena.capacity(), capacity);
  EXPECT_LE(arena.peak(), peak);
}

// What is in use keeps its bytes, whatever is allocated and given back behind it.
TEST(Arena, RandomCallsHarmNothing) {
  Random random(3);
  for (int round = 0; round < 20; ++round) {
    Arena arena;
    std::vector<Piece> pieces;
    std::vector<std::pair<Arena::Mark, std::size_t>> marks;  // and how many pieces there were
    for (int i = 0; i < 200; ++i) {
      if (random.below(8) == 0) marks.emplace_back(arena.mark(), pieces.size());
      if (random.below(12) == 0 && !marks.empty()) {
        const auto [mark, count] = marks.back();
        for (std::size_t k = 0; k < pieces.size(); ++k) {
          EXPECT_EQ(arena.bytes_before(mark, pieces[k].begin, 1) > 0, k < count);
        }
        arena.rewind(mark);
        pieces.resize(count);
        marks.pop_back();
      }
      const std::size_t size = 64 * (1 + random.below(random.below(9) == 0 ? 3000 : 200));
      pieces.push_back(filled(arena.allocate(size), size, random));
      std::size_t used = 0;
      for (const Piece& each : pieces) {
        ASSERT_TRUE(each.begin[0] == each.value && each.begin[each.size - 1] == each.value);
        used += each.size;
      }
      EXPECT_EQ(arena.used(), used);
    }
  }
}

TEST(Arena, FillsItsChunksToTheEnd) {
  for (std::size_t first = 64; first <= 300'000; first += 7 * 64) {
    Arena arena;
    arena.allocate(first);
    const std::size_t capacity = arena.capacity(), left = (capacity - first) / 64 * 64;
    if (left > 0) arena.allocate(left);
    EXPECT_EQ(arena.capacity(), capacity) << first;
    arena.allocate(64);
    EXPECT_GT(arena.capacity(), capacity) << first;
  }
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
      const std::size_t size = 1 + random.below(random.below(9) == 0 ? 200000 : 5000);
      pieces.push_back(filled(pool.allocate(size), size, random));
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
