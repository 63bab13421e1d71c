// Shards and GradientExchange: how minibatches are cut, the one order in which shards are added,
// and the same bits on all ranks, whatever their number.
#include <mutex>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/random.h"
#include "dynet_like/distributed/gradient_exchange.h"
#include "dynet_like/distributed/shards.h"
#include "tests/distributed/ranks_of_threads.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/same_bytes.h"

namespace dynet_like {
namespace {

/// All that a trainer sees of gradients.
struct Outcome {
  std::vector<std::vector<double>> values;
  std::vector<std::vector<std::uint32_t>> rows;
  double norm = 0;

  bool operator==(const Outcome& other) const {
    return std::ranges::equal(values, other.values,
                              [](const auto& a, const auto& b) { return same_bytes(a, b); }) &&
           rows == other.rows && norm == other.norm;
  }
};

struct Model {
  explicit Model(DType dtype, unsigned large) : parameters(1, dtype) {
    add(parameters.add_parameters({3}));
    add(parameters.add_parameters({large, 5}));
    add(parameters.add_parameters({7}));
    parameters.storages()[2]->updated = false;
    add(parameters.add_parameters({2, 2}));  // whose gradient no shard has
    wide = parameters.add_lookup_parameters(40, {6});
    narrow = parameters.add_lookup_parameters(9, {1});
    unused = parameters.add_lookup_parameters(5, {2});
  }
  void add(const Parameter& parameter) { dense.push_back(parameter); }

  ParameterCollection parameters;
  std::vector<Parameter> dense;
  LookupParameter wide, narrow, unused;
};

/// Gradients of a shard: a function of its number. Some have no rows, or not all parameters.
void fill(Gradients& gradients, const Model& model, std::size_t shard) {
  Random random(100 + shard);
  const auto numbers = [&](std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) {
      value = static_cast<float>(random.normal() * std::pow(10.0, random.below(6)));
      if (random.below(10) == 0) value = -0.0f;
    }
    return values;
  };
  for (std::size_t i = 0; i < 3; ++i) {
    const ParameterStorage& storage = model.dense[i].get_storage();
    if ((shard + i) % 4 != 3) gradients.set_values(storage, numbers(storage.size()));
  }
  if (shard % 3 == 1) return;
  for (const LookupParameter& table : {model.wide, model.narrow}) {
    const ParameterStorage& storage = table.get_storage();
    for (unsigned i = 0; i < 12; ++i) {
      const std::uint32_t row = random.below(static_cast<std::uint32_t>(storage.rows()));
      const std::vector<float> values = numbers(storage.entry_size());
      std::byte* const entry = gradients.rows(storage).entry(storage, row);
      for (std::size_t k = 0; k < values.size(); ++k) {
        if (storage.dtype == DType::f32) {
          reinterpret_cast<float*>(entry)[k] = values[k];
        } else {
          reinterpret_cast<double*>(entry)[k] = static_cast<double>(values[k]);
        }
      }
    }
  }
}

Outcome outcome_of(const Model& model, const Gradients& gradients) {
  Outcome outcome;
  for (const auto& storage : model.parameters.storages()) {
    outcome.values.push_back(gradients.all_doubles(*storage));
    const Gradients::Rows* const rows = gradients.find_rows(*storage);
    outcome.rows.push_back(rows == nullptr ? std::vector<std::uint32_t>() : rows->rows);
  }
  outcome.norm = gradients.norm(model.parameters);
  return outcome;
}

/// Some parameters early, the others late; `packed` may name those that have no part in it.
Gradients& sum_of(GradientExchange& exchange, std::span<Gradients> own,
                  const std::vector<Parameter>& packed) {
  for (const Parameter& parameter : packed) exchange.pack(own, parameter.get_storage());
  exchange.send(own);
  exchange.receive();
  return exchange.sum();
}

std::vector<Parameter> packed(const Model& model, std::size_t round) {
  return round == 0 ? std::vector<Parameter>() : std::vector{model.dense[2], model.dense[1]};
}

/// Of three exchanges, one behind the other, on all ranks: they must agree.
Outcome exchanged(unsigned ranks, unsigned shards, DType dtype, unsigned large) {
  std::mutex mutex;
  std::vector<Outcome> outcomes;
  run_ranks(ranks, [&](const std::shared_ptr<Communicator>& rank) {
    const Model model(dtype, large);
    GradientExchange exchange(rank, model.parameters, shards);
    std::vector<Gradients> own(exchange.own_shards().size());
    Outcome outcome;
    for (std::size_t round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < own.size(); ++i) {
        own[i].clear();
        fill(own[i], model, 50 * round + exchange.own_shards().begin + i);
      }
      Gradients& sum = sum_of(exchange, own, packed(model, round));
      sum.scale(0.5);
      outcome = outcome_of(model, sum);
    }
    const std::lock_guard lock(mutex);
    outcomes.push_back(std::move(outcome));
  });
  for (const Outcome& outcome : outcomes) EXPECT_TRUE(outcome == outcomes.front());
  return outcomes.front();
}

TEST(GradientExchangeTest, HasTheSameBitsOnAnyNumberOfRanks) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const unsigned shards : {8u, 5u}) {
      const Outcome one = exchanged(1, shards, dtype, 30);
      EXPECT_TRUE(std::isfinite(one.norm));
      EXPECT_GT(one.norm, 0);
      for (unsigned ranks = 2; ranks <= shards; ++ranks) {
        EXPECT_TRUE(exchanged(ranks, shards, dtype, 30) == one)
            << ranks << " ranks, " << shards << " shards";
      }
    }
  }
}

TEST(GradientExchangeTest, GoesInSeveralBuckets) {
  const unsigned large = 150'000;  // 3 MB
  const Outcome one = exchanged(1, 2, DType::f32, large);
  EXPECT_TRUE(exchanged(2, 2, DType::f32, large) == one);
}

// In long double, of each element and row.
TEST(GradientExchangeTest, AddsUpTheShards) {
  const Model model(DType::f64, 30);
  GradientExchange exchange(single_process(), model.parameters, 6);
  std::vector<Gradients> own(6);
  std::vector<std::vector<long double>> expected;
  for (const auto& storage : model.parameters.storages()) {
    expected.emplace_back(storage->size(), 0.0L);
  }
  for (std::size_t shard = 0; shard < 6; ++shard) {
    fill(own[shard], model, shard);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto values = own[shard].all_doubles(*model.parameters.storages()[i]);
      for (std::size_t k = 0; k < values.size(); ++k) {
        expected[i][k] += static_cast<long double>(values[k]);
      }
    }
  }
  const Gradients& sum = sum_of(exchange, own, {});
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const ParameterStorage& storage = *model.parameters.storages()[i];
    if (!storage.updated) continue;
    const auto values = sum.all_doubles(storage);
    if (values.empty()) continue;  // a table without rows
    for (std::size_t k = 0; k < values.size(); ++k) {
      EXPECT_NEAR(values[k], static_cast<double>(expected[i][k]), 1e-9) << storage.name;
    }
  }
  EXPECT_EQ(sum.find_rows(model.unused.get_storage()), nullptr);
  EXPECT_NE(sum.find_rows(model.wide.get_storage()), nullptr);
  EXPECT_NE(sum.find_dense(model.dense[3].get_storage()), nullptr);
}

// The others must not wait for a rank that has failed on the way, and all can begin anew.
TEST(GradientExchangeTest, GoesOnAfterARankHadNothingToSend) {
  const unsigned large = 150'000;
  const Outcome one = exchanged(1, 3, DType::f32, large);
  run_ranks(3, [&](const std::shared_ptr<Communicator>& rank) {
    const Model model(DType::f32, large);
    GradientExchange exchange(rank, model.parameters, 3);
    std::vector<Gradients> own(1);
    Outcome outcome;
    for (std::size_t round = 0; round < 3; ++round) {
      for (const bool fails : {true, false}) {
        own[0].clear();
        fill(own[0], model, 50 * round + rank->rank());
        exchange.pack(own, model.dense[fails ? 0 : 1].get_storage());
        if (fails && rank->rank() == 1) exchange.pack(own, model.dense[1].get_storage());
        if (fails && rank->rank() > 0) {
          exchange.send_nothing();
        } else {
          exchange.send(own);
        }
        exchange.receive();
        if (fails) {
          exchange.clear();
          continue;
        }
        Gradients& sum = exchange.sum();
        sum.scale(0.5);
        outcome = outcome_of(model, sum);
      }
    }
    EXPECT_TRUE(outcome == one);
  });
}

TEST(GradientExchangeTest, NeedsAShardForEachRank) {
  const ParameterCollection model;
  EXPECT_EQ(message_of<UsageError>(
                [&] { run_ranks(3, [&](const auto& rank) { GradientExchange(rank, model, 2); }); }),
            "[GradientExchange] need a shard for each rank; got 2 for 3 ranks");
}

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
