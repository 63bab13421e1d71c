// Shards: how minibatches are cut, and the one order in which shards are added.
#include "dynet_like/core/errors.h"
#include "dynet_like/core/random.h"
#include "dynet_like/distributed/shards.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using Numbers = std::vector<std::uint32_t>;

std::vector<std::uint64_t> loads_of(const Shards& shards, const Numbers& costs) {
  std::vector<std::uint64_t> loads;
  std::uint32_t at = 0;
  for (const std::uint32_t end : shards.ends) {
    loads.push_back(0);
    for (; at < end; ++at) loads.back() += costs[shards.samples[at]];
  }
  return loads;
}

TEST(ShardsOfMinibatchesTest, HaveEverySampleOnceInItsOrder) {
  const Numbers samples = {7, 3, 9, 1, 4}, costs = {1, 9, 1, 2, 3, 1, 1, 4, 1, 5};
  const Shards shards = cut_into_shards(samples, costs, 2);
  EXPECT_EQ(shards.samples, (Numbers{1, 4, 7, 3, 9}));
  EXPECT_EQ(shards.ends, (Numbers{2, 5}));
  EXPECT_EQ(cut_into_shards(samples, costs, 1).samples, samples);
  EXPECT_EQ(cut_into_shards(samples, {}, 3).ends, (Numbers{2, 4, 5}));
}

TEST(ShardsOfMinibatchesTest, MayBeEmpty) {
  const Shards shards = cut_into_shards(Numbers{5}, {}, 3);
  EXPECT_EQ(shards.ends, (Numbers{1, 1, 1}));
  EXPECT_EQ(cut_into_shards({}, {}, 2).ends, (Numbers{0, 0}));
  // Samples that cost nothing are spread all the same.
  EXPECT_EQ(cut_into_shards(Numbers{0, 1, 2}, Numbers{0, 0, 0}, 3).ends, (Numbers{1, 2, 3}));
}

// No shard is larger than the mean and one sample; of sentences, that is a few per cent.
TEST(ShardsOfMinibatchesTest, CostAboutTheSame) {
  Random random(1);
  for (int round = 0; round < 20; ++round) {
    Numbers samples(64), costs(64);
    std::iota(samples.begin(), samples.end(), 0u);
    for (std::uint32_t& cost : costs) cost = 1 + random.below(60);
    const auto loads = loads_of(cut_into_shards(samples, costs, 8), costs);
    const std::uint64_t all = std::accumulate(loads.begin(), loads.end(), std::uint64_t{0});
    EXPECT_EQ(all, std::accumulate(costs.begin(), costs.end(), std::uint64_t{0}));
    EXPECT_LE(8 * *std::max_element(loads.begin(), loads.end()), all * 105 / 100 + 8);
  }
}

TEST(ShardsOfMinibatchesTest, RefuseWhatMakesNoSense) {
  EXPECT_EQ(message_of<UsageError>([] { cut_into_shards(Numbers{1}, {}, 0); }),
            "[Shards] need 1 shard or more; got 0");
  EXPECT_EQ(message_of<UsageError>([] {
              cut_into_shards(Numbers{2}, Numbers{1, 1}, 2);
            }),
            "[Shards] need a cost for each sample; got sample 2 and 2 costs");
}

TEST(ShardsOfMinibatchesTest, AreSharedOutEvenly) {
  for (unsigned ranks = 1; ranks <= 9; ++ranks) {
    std::size_t next = 0;
    for (unsigned rank = 0; rank < ranks; ++rank) {
      const RankPart part = part_of_rank(9, rank, ranks);
      EXPECT_EQ(part.begin, next);
      EXPECT_LE(part.size(), 9 / ranks + 1);
      EXPECT_GE(part.size(), 9 / ranks);
      next = part.end;
    }
    EXPECT_EQ(next, 9u);
  }
}

// A sum writes down how it was made.
using Text = std::shared_ptr<std::string>;
Text text(std::size_t number) { return std::make_shared<std::string>(std::to_string(number)); }
const auto kJoin = [](const Text& left, const Text& right) {
  *left = "(" + *left + "+" + *right + ")";
};

std::string in_one_go(std::size_t shards) {
  detail::TreeSum<Text, decltype(kJoin)> sum(kJoin);
  for (std::size_t shard = 0; shard < shards; ++shard) sum.push(0, text(shard));
  return *sum.total();
}

TEST(ShardTreeTest, HasOneOrder) {
  EXPECT_EQ(in_one_go(1), "0");
  EXPECT_EQ(in_one_go(4), "((0+1)+(2+3))");
  EXPECT_EQ(in_one_go(7), "(((0+1)+(2+3))+((4+5)+6))");
}

// Whoever adds up the shards that ranks have.
TEST(ShardTreeTest, HasTheSameOrderOnAnyNumberOfRanks) {
  for (std::size_t shards = 1; shards <= 20; ++shards) {
    for (unsigned ranks = 1; ranks <= shards; ++ranks) {
      detail::TreeSum<Text, decltype(kJoin)> all(kJoin);
      for (unsigned rank = 0; rank < ranks; ++rank) {
        for (const auto& node : detail::tree_nodes(part_of_rank(shards, rank, ranks))) {
          detail::TreeSum<Text, decltype(kJoin)> own(kJoin);
          for (std::size_t i = 0; i < std::size_t{1} << node.level; ++i) {
            own.push(0, text(node.shard + i));
          }
          all.push(node.level, own.total());
        }
      }
      EXPECT_EQ(*all.total(), in_one_go(shards)) << shards << " shards, " << ranks << " ranks";
    }
  }
}

}  // namespace
}  // namespace dynet_like
