// Random samples that ask for values and go on as these say: the bits of one sample after the
// other, whether all are there at once or come while others run.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <optional>

#include "tests/support/random_chains.h"

namespace dynet_like::testing {
namespace {

using Floats = std::vector<float>;

// Bits that depend on all numbers of a tensor; all NaNs are the same.
std::uint64_t digest(const Tensor& tensor, std::uint64_t before) {
  for (std::size_t i = 0; i < tensor.d.size(); ++i) {
    const auto value = static_cast<float>(tensor.at(i));
    const auto bits = std::isnan(value) ? 1u : std::bit_cast<std::uint32_t>(value);
    before = (before ^ bits) * 0x9e3779b97f4a7c15u;
    before ^= before >> 29;
  }
  return before;
}

// A sample: pieces of random graphs and chains. What comes next depends on the values so far.
class Walk {
 public:
  struct Options {
    bool chains = false, dropout = true;
  };

  Walk(ComputationGraph& graph, const RandomModel& model, std::uint64_t seed, Options options)
      : graph_(graph), model_(model), seen_(seed * 0x9e3779b97f4a7c15u + 1), options_(options) {}

  /// The loss; `seen` tells what every decision was made of.
  Expression run(std::vector<std::uint64_t>& seen) {
    record();
    for (std::uint64_t steps = seen_ % 7; steps > 0; --steps) {
      const std::uint64_t kind = seen_ % 11;
      if (kind < 5) {
        look();
      } else if (kind < 7) {
        look_at_several();
      } else if (kind < 9) {
        try_something();
      }
      record();
      seen.push_back(seen_);
    }
    return recorded_.loss;
  }

 private:
  std::uint64_t draw(std::uint64_t below) {
    seen_ = seen_ * 6364136223846793005u + 1442695040888963407u;
    return (seen_ >> 33) % below;
  }
  void record() {
    if (options_.chains && draw(3) > 0) {
      RandomChainsOptions options;
      options.calls = 3 + static_cast<unsigned>(draw(6));
      options.dropout = options_.dropout;
      options.noise = draw(2) == 0;
      recorded_ = record_random_chains(graph_, model_, 1 + draw(3), draw(1000), options, recorded_);
    } else {
      RandomGraphOptions options;
      options.nodes = static_cast<unsigned>(graph_.size() + 3 + draw(30));
      options.dropout = options_.dropout;
      recorded_ = record_random_graph(graph_, model_, draw(1u << 30), options, recorded_);
    }
  }
  const Expression& any() { return recorded_.all[draw(recorded_.all.size())]; }
  void look() { seen_ = digest(any().value(), seen_); }
  void look_at_several() {
    std::vector<Expression> some;
    for (std::uint64_t count = draw(5); count > 0; --count) some.push_back(any());
    for (const Tensor& value : dynet_like::values_of(some)) seen_ = digest(value, seen_);
  }
  void try_something() {
    const RandomGraph before = recorded_;
    graph_.checkpoint();
    record();
    if (draw(3) > 0) look();
    graph_.revert();
    recorded_ = before;
  }

  ComputationGraph& graph_;
  const RandomModel& model_;
  RandomGraph recorded_;
  std::uint64_t seen_;
  const Options options_;
};

struct Outcome {
  std::vector<std::vector<std::uint64_t>> seen;
  std::vector<float> gradients;
  std::uint32_t loss = 0;
};

class Program {
 public:
  explicit Program(std::uint64_t seed, bool dropout = true) : random_(seed), seed_(seed) {
    samples_ = 1 + random_.below(12);
    walk_ = {random_.below(2) == 0, dropout};
    inference_ = random_.below(3) == 0;
  }

  Outcome together() {
    GraphOptions options = some_options();
    options.policy = static_cast<batching::Policy>(random_.below(5));
    options.threads = 1 + random_.below(3);
    if (random_.below(4) == 0) options.verify_batching = true;
    Minibatch batch(options);
    Outcome outcome;
    for (int round = 0; round < 2; ++round) {  // the second one has the memory of the first
      batch.clear();
      batch.seed_samples(std::vector<std::uint64_t>(samples_, seed_));
      outcome = {};
      outcome.seen.resize(samples_);
      const auto losses = for_each_sample(
          batch, samples_,
          [&](ComputationGraph& graph, std::size_t i) { return walk(graph, i, outcome.seen[i]); });
      batch.add_losses(losses);
      finish(batch, outcome);
    }
    return outcome;
  }
  /// What the samples see that come when they like.
  std::vector<std::vector<std::uint64_t>> arriving(std::size_t count) {
    GraphOptions options = some_options();
    options.inference = true;
    options.threads = 1 + random_.below(3);
    Minibatch batch(options);
    std::vector<std::vector<std::uint64_t>> seen(count);
    std::size_t next = 0;
    for_each_arriving(
        batch, 1 + random_.below(6),
        [&](bool idle) -> std::optional<std::size_t> {
          if (next == count || (!idle && random_.below(3) == 0)) return std::nullopt;
          return next++;
        },
        [&](ComputationGraph& graph, std::size_t i) { walk(graph, i % samples_, seen[i]); });
    return seen;
  }
  std::size_t samples() const { return samples_; }
  Outcome one_by_one() {
    GraphOptions options = some_options();
    Minibatch batch(options);
    batch.seed_samples(std::vector<std::uint64_t>(samples_, seed_));
    Outcome outcome;
    outcome.seen.resize(samples_);
    for (std::size_t i = 0; i < samples_; ++i) {
      batch.add_loss(walk(batch.new_graph(), i, outcome.seen[i]));
    }
    finish(batch, outcome);
    return outcome;
  }

 private:
  GraphOptions some_options() {
    GraphOptions options;
    options.inference = inference_;
    return options;
  }
  Expression walk(ComputationGraph& graph, std::size_t i, std::vector<std::uint64_t>& seen) const {
    return Walk(graph, model_, seed_ * 100 + i, walk_).run(seen);
  }
  void finish(Minibatch& batch, Outcome& outcome) const {
    const float loss = batch.forward();
    outcome.loss = std::isnan(loss) ? 1u : std::bit_cast<std::uint32_t>(loss);
    if (inference_) return;
    outcome.gradients = model_.all(batch.backward());
    for (float& x : outcome.gradients) x = std::isnan(x) ? 12345.0f : x;
  }

  Random random_;
  RandomModel model_;
  std::uint64_t seed_;
  std::size_t samples_;
  Walk::Options walk_;
  bool inference_;
};

TEST(ForEachSampleRandom, HasTheBitsOfOneByOne) {
  std::size_t decisions = 0;
  for (std::uint64_t seed = 0; seed < 100 && !HasFailure(); ++seed) {
    Program program(seed);
    const Outcome alone = program.one_by_one();
    const Outcome together = program.together();
    for (std::size_t i = 0; i < alone.seen.size(); ++i) {
      ASSERT_EQ(together.seen[i], alone.seen[i]) << "seed " << seed << ", sample " << i;
    }
    ASSERT_EQ(together.loss, alone.loss) << "seed " << seed;
    ASSERT_EQ(together.gradients, alone.gradients) << "seed " << seed;
    for (const auto& seen : alone.seen) decisions += seen.size();
  }
  EXPECT_GT(decisions, 500u);
}

// What dropout drops depends on the place of a sample in the minibatch.
TEST(ForEachSampleRandom, ThoseThatArriveHaveTheBitsOfOneByOne) {
  std::size_t decisions = 0;
  for (std::uint64_t seed = 0; seed < 100 && !HasFailure(); ++seed) {
    Program program(seed, false);
    const Outcome alone = program.one_by_one();
    const auto seen = program.arriving((seed % 10 == 0 ? 100 : 4) * program.samples());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      ASSERT_EQ(seen[i], alone.seen[i % program.samples()]) << "seed " << seed << ", sample " << i;
      decisions += seen[i].size();
    }
  }
  EXPECT_GT(decisions, 500u);
}

}  // namespace
}  // namespace dynet_like::testing
