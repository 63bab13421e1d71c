// Gradients of shards: consecutive samples of one minibatch, each summed by itself.
#include "dynet_like/core/errors.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/lstm.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using Ends = std::vector<std::uint32_t>;

constexpr std::uint32_t kShardedSamples = 24;

/// Sequences of different lengths with everything that gradients come from: rows of tables,
/// weights, cells, a function of a parameter alone, a table as a whole, and dropout.
struct ShardedModel {
  ParameterCollection parameters{3};
  nn::Embedding words{parameters, 11, 6};
  nn::LSTM lstm{parameters, 6, 8};
  nn::Linear output{parameters, 8, 5};
  Parameter scale = parameters.add_parameters({8});
  LookupParameter whole = parameters.add_lookup_parameters(5, {8});

  Expression loss(ComputationGraph& graph, std::uint32_t sample) const {
    nn::LSTM::State state = lstm.start(graph);
    const unsigned length = 1 + sample * 7 % 9;
    for (unsigned t = 0; t < length; ++t) {
      state = lstm.step(state, dropout(words(graph, (sample + t * t) % 11), 0.3f));
    }
    const Expression h = cmult(state.h, tanh(parameter(graph, scale)));
    const Expression scores =
        output(dropout(h, 0.5f)) + 0.1f * (transpose(parameter(graph, whole)) * h);
    return cross_entropy(scores, sample % 5);
  }

  std::vector<std::vector<float>> values(const Gradients& gradients) const {
    std::vector<std::vector<float>> all;
    for (const auto& storage : parameters.storages()) all.push_back(gradients.all_values(*storage));
    return all;
  }
};

GraphOptions options_of(unsigned threads) { return {.threads = threads}; }

struct Setting {
  unsigned threads;
  bool verify;
};

class ShardsTest : public ::testing::TestWithParam<Setting> {
 protected:
  ShardedModel model_;
};

const std::vector<std::uint64_t> seeds = [] {
  std::vector<std::uint64_t> all(kShardedSamples);
  std::iota(all.begin(), all.end(), 41);
  return all;
}();

// With their seeds, samples alone have the losses and gradients of the shard.
TEST_P(ShardsTest, HaveTheBitsOfMinibatchesOfTheirOwn) {
  const auto [threads, verify] = GetParam();
  for (const Ends& ends :
       {Ends{24}, Ends{1, 24}, Ends{0, 5, 5, 17, 24}, Ends{3, 6, 9, 12, 15, 18, 21, 24}}) {
    SCOPED_TRACE(::testing::PrintToString(ends));
    GraphOptions options = options_of(threads);
    options.verify_batching = verify;
    Minibatch batch(options);
    for (int round = 0; round < 2; ++round) {  // the second uses the memory of the first
      batch.clear();
      batch.seed_samples(seeds);
      batch.add_losses(kShardedSamples, [&](auto& graph, auto i) { return model_.loss(graph, i); });
      batch.forward();
      std::vector<Gradients> gradients(ends.size());
      batch.backward(ends, gradients);
      std::uint32_t begin = 0;
      for (std::size_t shard = 0; shard < ends.size(); ++shard) {
        Minibatch alone;
        alone.seed_samples(std::span(seeds).subspan(begin));
        alone.add_losses(ends[shard] - begin,
                         [&](auto& graph, auto i) { return model_.loss(graph, begin + i); });
        alone.forward();
        EXPECT_EQ(batch.loss_of(begin, ends[shard]), alone.loss_of(0, ends[shard] - begin));
        EXPECT_EQ(model_.values(gradients[shard]), model_.values(alone.backward()))
            << "shard " << shard;
        begin = ends[shard];
      }
    }
  }
}

// What is there already is continued, so that minibatches accumulate shard by shard.
TEST_P(ShardsTest, AddToWhatIsThere) {
  const auto [threads, verify] = GetParam();
  Minibatch batch(options_of(threads)), alone;
  std::vector<Gradients> gradients(2);
  Gradients expected;
  for (int round = 0; round < 2; ++round) {
    batch.clear();
    batch.add_losses(kShardedSamples, [&](auto& graph, auto i) { return model_.loss(graph, i); });
    batch.forward();
    batch.backward(Ends{10, kShardedSamples}, gradients);
    alone.clear();
    alone.add_losses(10, [&](auto& graph, auto i) { return model_.loss(graph, i); });
    alone.forward();
    alone.backward(expected);
  }
  EXPECT_EQ(model_.values(gradients[0]), model_.values(expected));
}

// Each once, with gradients of all shards that do not change any more.
TEST_P(ShardsTest, TellOfParametersThatOnlySamplesRead) {
  const auto [threads, verify] = GetParam();
  Minibatch batch(options_of(threads));
  batch.add_losses(kShardedSamples, [&](auto& graph, auto i) { return model_.loss(graph, i); });
  batch.forward();
  std::vector<Gradients> gradients(3);
  std::map<const ParameterStorage*, std::vector<std::vector<float>>> told;
  const auto values_of = [&](const ParameterStorage& parameter) {
    std::vector<std::vector<float>> values;
    for (const Gradients& some : gradients) values.push_back(some.all_values(parameter));
    return values;
  };
  batch.backward(Ends{9, 10, kShardedSamples}, gradients, [&](const ParameterStorage& parameter) {
    EXPECT_TRUE(told.emplace(&parameter, values_of(parameter)).second) << parameter.name;
  });
  for (const auto& storage : model_.parameters.storages()) {
    const bool is_told = !storage->is_table && storage.get() != &model_.scale.get_storage();
    ASSERT_EQ(told.count(storage.get()), is_told ? 1 : 0) << storage->name;
    if (!is_told) continue;
    EXPECT_EQ(told[storage.get()], values_of(*storage)) << storage->name;
  }
}

TEST_P(ShardsTest, RefusesEndsThatDoNotFit) {
  Minibatch batch;
  batch.add_losses(4, [&](auto& graph, auto i) { return model_.loss(graph, i); });
  batch.forward();
  std::vector<Gradients> gradients(2);
  const auto message = [&](const Ends& ends) {
    return message_of<UsageError>([&] { batch.backward(ends, gradients); });
  };
  EXPECT_EQ(
      message({1, 3}),
      "[backward] need ends of shards that do not decrease, the last of them 4, the number of "
      "samples; got 2 shards, the last with end 3");
  EXPECT_TRUE(mentions(message({5, 4}), "do not decrease"));
  EXPECT_TRUE(mentions(message({}), "got 0 shards"));
  EXPECT_EQ(message({4}), "[backward] need gradients for each shard; got 2 for 1");
  batch.backward(Ends{2, 4}, gradients);
  EXPECT_EQ(batch.losses().trained, 4u);
}

// After clear, samples run as one again, and not as the shards of a minibatch before.
TEST_P(ShardsTest, AreThoseOfOneMinibatch) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "vertices are shared on a CPU alone";
  GraphOptions options = options_of(GetParam().threads);
  options.share_repeated = true;
  const auto add = [&](Minibatch& batch) {
    batch.add_losses(4, [&](auto& graph, auto i) { return model_.loss(graph, i); });
  };
  Minibatch batch(options), plain(options);
  add(plain);
  plain.forward();
  add(batch);
  const Ends ends = {1, 2, 3, 4};
  batch.forward(ends);
  std::vector<Gradients> gradients(4);
  batch.backward(ends, gradients);
  batch.clear();
  add(batch);
  batch.forward();
  expect_refused<UsageError>("...need shards that share no work...",
                             [&] { batch.backward(ends, gradients); });
  EXPECT_EQ(batch.explain().batches, plain.explain().batches);
}

TEST_P(ShardsTest, RefusesAMinibatchInParts) {
  Minibatch batch({.memory_limit = 1});
  batch.add_losses(4, [&](auto& graph, auto i) { return model_.loss(graph, i); });
  batch.forward();
  std::vector<Gradients> gradients(1);
  expect_refused<UsageError>("...in 4 parts...", [&] { batch.backward(Ends{4}, gradients); });
}

INSTANTIATE_TEST_SUITE_P(Ways, ShardsTest,
                         ::testing::Values(Setting{1, false}, Setting{3, false}, Setting{2, true}),
                         [](const auto& info) {
                           return "Threads" + std::to_string(info.param.threads) +
                                  (info.param.verify ? "Verified" : "");
                         });

}  // namespace
}  // namespace dynet_like
