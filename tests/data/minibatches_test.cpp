// Minibatches: every sample once, sizes together, the same for the same seed.
#include "nn/data/minibatches.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

/// Checks that each of the samples is in one batch and that one batch at most is smaller.
void expect_partition(const Minibatches& batches, std::size_t count, std::size_t batch_size) {
  std::vector<std::uint32_t> all;
  std::size_t smaller = 0;
  for (const std::vector<std::uint32_t>& batch : batches) {
    EXPECT_FALSE(batch.empty());
    EXPECT_LE(batch.size(), batch_size);
    smaller += batch.size() < batch_size ? 1 : 0;
    all.insert(all.end(), batch.begin(), batch.end());
  }
  EXPECT_EQ(smaller, count % batch_size == 0 ? 0u : 1u);
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), count);
  for (std::uint32_t i = 0; i < count; ++i) EXPECT_EQ(all[i], i);
}

std::vector<std::uint32_t> random_sizes(std::size_t count) {
  Random random(9);
  std::vector<std::uint32_t> sizes(count);
  for (std::uint32_t& size : sizes) size = 1 + random.below(50);
  return sizes;
}

/// The differences between the largest and the smallest size in a batch, added up.
std::uint32_t spread(const Minibatches& batches, const std::vector<std::uint32_t>& sizes) {
  std::uint32_t sum = 0;
  for (const std::vector<std::uint32_t>& batch : batches) {
    const auto [low, high] =
        std::minmax_element(batch.begin(), batch.end(),
                            [&](std::uint32_t a, std::uint32_t b) { return sizes[a] < sizes[b]; });
    sum += sizes[*high] - sizes[*low];
  }
  return sum;
}

TEST(Minibatches, HoldEverySampleOnce) {
  for (const std::size_t count : {1u, 7u, 8u, 9u, 64u, 100u}) {
    const std::vector<std::uint32_t> sizes = random_sizes(count);
    for (const std::size_t batch_size : {1u, 8u, 1000u}) {
      Random random(1);
      expect_partition(shuffled_minibatches(count, batch_size, random), count, batch_size);
      expect_partition(sorted_minibatches(sizes, batch_size), count, batch_size);
      for (const std::size_t pool : {std::size_t{1}, std::size_t{3}, std::size_t{100},
                                     std::numeric_limits<std::size_t>::max()}) {
        expect_partition(similar_size_minibatches(sizes, batch_size, pool, random), count,
                         batch_size);
      }
    }
  }
}

TEST(Minibatches, AreShuffledByTheSeed) {
  Random first(1), same(1), other(2);
  const Minibatches batches = shuffled_minibatches(100, 8, first);
  EXPECT_EQ(batches.size(), 13u);
  EXPECT_EQ(batches.back().size(), 4u);
  EXPECT_EQ(shuffled_minibatches(100, 8, same), batches);
  EXPECT_NE(shuffled_minibatches(100, 8, other), batches);
  EXPECT_NE(shuffled_minibatches(100, 8, first), batches) << "another order in each epoch";
}

TEST(Minibatches, PutSimilarSizesTogether) {
  const std::vector<std::uint32_t> sizes = random_sizes(1000);
  Random random(3);
  const std::uint32_t mixed = spread(shuffled_minibatches(1000, 10, random), sizes);
  const std::uint32_t pooled = spread(similar_size_minibatches(sizes, 10, 10, random), sizes);
  const std::uint32_t sorted = spread(sorted_minibatches(sizes, 10), sizes);
  EXPECT_LT(pooled * 4, mixed);
  EXPECT_LT(sorted, pooled);
  // With one pool of all samples, only the order of batches and of equal sizes is random.
  const Minibatches one_pool = similar_size_minibatches(sizes, 10, 100, random);
  EXPECT_EQ(spread(one_pool, sizes), sorted);
  EXPECT_NE(similar_size_minibatches(sizes, 10, 100, random), one_pool);
}

TEST(Minibatches, AreSortedForEvaluation) {
  const std::vector<std::uint32_t> sizes = {5, 1, 4, 1, 3};
  EXPECT_EQ(sorted_minibatches(sizes, 2), (Minibatches{{1, 3}, {4, 2}, {0}}));
}

TEST(Minibatches, HoldAsMuchAsATotalSizeAllows) {
  const std::vector<std::uint32_t> sizes = random_sizes(1000);
  const std::uint64_t all = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  for (const std::uint64_t limit : {1u, 20u, 200u, 100000u}) {
    for (const std::size_t pool :
         {std::size_t{1}, std::size_t{10}, std::numeric_limits<std::size_t>::max()}) {
      Random random(4);
      for (const Minibatches& batches :
           {sorted_minibatches(sizes, TotalSize{limit}),
            similar_size_minibatches(sizes, TotalSize{limit}, pool, random)}) {
        std::vector<bool> seen(sizes.size());
        std::uint64_t sum = 0;
        for (const std::vector<std::uint32_t>& batch : batches) {
          ASSERT_FALSE(batch.empty());
          std::uint64_t total = 0;
          for (const std::uint32_t sample : batch) {
            EXPECT_FALSE(seen[sample]);
            seen[sample] = true;
            total += sizes[sample];
          }
          EXPECT_TRUE(total <= limit || batch.size() == 1);
          sum += total;
        }
        EXPECT_EQ(sum, all);
      }
    }
  }
  // Sizes are below 51, so that but for the last of each pool all batches are nearly full.
  Random random(5);
  EXPECT_LE(similar_size_minibatches(sizes, TotalSize{500}, 10, random).size(),
            all / 450 * 11 / 10);
  EXPECT_EQ(sorted_minibatches(std::vector<std::uint32_t>{5, 1, 4, 1, 3, 9}, TotalSize{5}),
            (Minibatches{{1, 3, 4}, {2}, {0}, {5}}));
  EXPECT_EQ(sorted_minibatches(std::vector<std::uint32_t>{0, 0}, TotalSize{1}),
            (Minibatches{{0, 1}}));
}

TEST(Minibatches, OfATotalSizeAreShuffledAndSimilar) {
  const std::vector<std::uint32_t> sizes = random_sizes(1000);
  Random first(1), same(1);
  const Minibatches batches = similar_size_minibatches(sizes, TotalSize{250}, 10, first);
  EXPECT_EQ(similar_size_minibatches(sizes, TotalSize{250}, 10, same), batches);
  EXPECT_NE(similar_size_minibatches(sizes, TotalSize{250}, 10, first), batches);
  EXPECT_LT(spread(batches, sizes) * 4, spread(shuffled_minibatches(1000, 10, first), sizes));
}

// Pools as large as numbers get, of a product that is just representable, and one that is not.
TEST(Minibatches, OfPoolsWithoutALimit) {
  const std::vector<std::uint32_t> sizes = random_sizes(500);
  const auto make = [&](std::uint64_t total, std::size_t pool) {
    Random random(3);
    return similar_size_minibatches(sizes, TotalSize{total}, pool, random);
  };
  constexpr std::size_t kLargest = std::numeric_limits<std::size_t>::max();
  for (const std::uint64_t total : {std::uint64_t{64}, std::uint64_t{96}}) {
    const Minibatches one_pool = make(total, 25000 / total);  // of all samples
    EXPECT_LT(spread(one_pool, sizes), 60u);
    const std::size_t fits = kLargest / total;
    for (const std::size_t pool :
         {fits - 1, fits, fits + 1, fits + 2, 2 * fits + 2, kLargest - 1, kLargest}) {
      EXPECT_EQ(make(total, pool), one_pool) << pool;
    }
  }
}

/// As they were before there was another batch size: runs that were interrupted go on with them.
TEST(Minibatches, StayWhatTheyWere) {
  const std::vector<std::uint32_t> sizes = {5, 1, 4, 1, 3, 9, 2, 6};
  Random random(1);
  const Minibatches batches = similar_size_minibatches(sizes, 2, 2, random);
  EXPECT_EQ(batches, (Minibatches{{7, 5}, {6, 2}, {4, 0}, {3, 1}}));
}

TEST(Minibatches, RejectImpossibleRequests) {
  Random random;
  const std::vector<std::uint32_t> sizes(3);
  EXPECT_THROW(shuffled_minibatches(3, 0, random), UsageError);
  EXPECT_THROW(similar_size_minibatches(sizes, 0, 1, random), UsageError);
  EXPECT_THROW(similar_size_minibatches(sizes, 1, 0, random), UsageError);
  EXPECT_THROW(sorted_minibatches(sizes, 0), UsageError);
  EXPECT_THROW(sorted_minibatches(sizes, TotalSize{0}), UsageError);
  EXPECT_THROW(similar_size_minibatches(sizes, TotalSize{0}, 1, random), UsageError);
  EXPECT_THROW(similar_size_minibatches(sizes, TotalSize{1}, 0, random), UsageError);
  EXPECT_THROW(shuffled_minibatches(std::size_t{1} << 32, 8, random), UsageError);
  EXPECT_TRUE(shuffled_minibatches(0, 8, random).empty());
  EXPECT_TRUE(similar_size_minibatches({}, 8, 4, random).empty());
  EXPECT_TRUE(sorted_minibatches({}, 8).empty());
}

TEST(Minibatches, HaveATotalSize) {
  const std::vector<std::uint32_t> sizes = {4'000'000'000, 7, 4'000'000'000};
  EXPECT_EQ(total_size(sizes, std::vector<std::uint32_t>{0, 2}), 8'000'000'000u);
  EXPECT_EQ(total_size(sizes, {}), 0u);
  EXPECT_THROW(total_size(sizes, std::vector<std::uint32_t>{1, 3}), UsageError);
}

}  // namespace
}  // namespace dynet_like::nn
