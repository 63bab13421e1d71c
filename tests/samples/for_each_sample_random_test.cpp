// Random samples that ask for values and go on as these say: the bits of one sample after the
// other, whether all are there at once or come while others run.
#include <bit>

#include "tests/support/modes.h"
#include "tests/support/precompiled.h"
#include "tests/support/random_chains.h"
#include "tests/support/slow_build.h"

namespace dynet_like::testing {
namespace {

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

  Sample run() {
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
    }
    return {recorded_.loss, recorded_.all};
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

/// Samples that decide by what they see.
Program program_of(const RandomModel& model, std::uint64_t seed, bool dropout) {
  Random random(seed);
  const Walk::Options options{random.below(2) == 0, dropout};
  const auto record = [=, &model](ComputationGraph& graph, unsigned sample) {
    return Walk(graph, model, seed * 100 + sample, options).run();
  };
  Program program{model.collection, record, 1 + random.below(12), dropout, true, true};
  program.is_finite = false;
  return program;
}

std::uint64_t programs() { return kSlowBuild ? 25 : 100; }

TEST(ForEachSampleRandom, HasTheBitsOfOneByOne) {
  const RandomModel model;
  for (std::uint64_t seed = 0; seed < programs() && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Program program = program_of(model, seed, seed % 3 > 0);
    if (seed % 25 == 0) {
      expect_same_in_all_modes(program);
    } else {
      expect_same_in_some_modes(program, seed, 4);
    }
  }
}

// Samples that come when they like; they draw other numbers than those of a minibatch.
TEST(ForEachSampleRandom, ThoseThatArriveHaveTheBitsOfOneByOne) {
  const RandomModel model;
  for (std::uint64_t seed = 0; seed < programs() && !HasFailure(); ++seed) {
    const Program program = program_of(model, seed, false);
    const Outcome alone = run(program, {{.inference = true}});
    Random random(seed);
    Minibatch batch({.threads = 1 + random.below(3), .inference = true});
    std::vector<Numbers> seen((seed % 10 == 0 ? 100 : 4) * program.samples);
    unsigned next = 0;
    for_each_arriving(
        batch, 1 + random.below(6),
        [&](bool idle) -> std::optional<unsigned> {
          if (next == seen.size() || (!idle && random.below(3) == 0)) return std::nullopt;
          return next++;
        },
        [&](ComputationGraph& graph, unsigned i) {
          const Sample sample = program.record(graph, i % program.samples);
          append(seen[i], sample.loss.value());
          for (const Tensor& value : values_of(sample.watched)) append(seen[i], value);
        });
    for (std::size_t i = 0; i < seen.size(); ++i) {
      ASSERT_TRUE(same_bits(seen[i], alone.values[i % program.samples]))
          << "seed " << seed << ", sample " << i;
    }
  }
}

}  // namespace
}  // namespace dynet_like::testing
