// Allocations of a minibatch fail, one at a time or all from one on, also while samples wait for
// values: after `clear` the same objects give the same bits.
#include <ostream>

#include "tests/failing/failing_allocations.h"
#include "tests/support/known_minibatch.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using failing::Mode;
using failing::Outcome;

// Enough nodes that two threads run them beside each other.
constexpr std::size_t kSamples = 7;

struct Setting {
  const char* name = "";
  std::size_t samples = kSamples;
  unsigned threads = 1;
  bool inference = false;
  std::size_t memory_limit = 0;
  bool beside_each_other = false;  ///< add_losses instead of new_graph and add_loss
  bool checks = false;
  batching::Policy policy = batching::Policy::automatic;
};

std::ostream& operator<<(std::ostream& out, const Setting& setting) { return out << setting.name; }

// A minibatch, its model and what else goes on living when something fails.
struct World {
  explicit World(const Setting& its_setting) : setting(its_setting) {
    options.threads = setting.threads;
    options.inference = setting.inference;
    options.memory_limit = setting.memory_limit;
    options.policy = setting.policy;
    options.verify_batching = options.detect_anomaly = setting.checks;
    batch.emplace(options);
    outsider_value = model.loss_of(outsider, 1);
    outsider_bits = as_scalar(outsider_value.value());
  }

  // From here dropout draws the same numbers each time.
  void start_anew() {
    batch->clear();
    batch->seed_samples(seeds);
  }

  void record(std::size_t samples) {
    if (setting.beside_each_other) {
      return batch->add_losses(
          samples, [&](ComputationGraph& graph, std::size_t i) { return model.loss_of(graph, i); });
    }
    for (std::size_t i = 0; i < samples; ++i) {
      ComputationGraph& graph = batch->new_graph();
      batch->add_loss(model.loss_of(graph, i));
      batch->add_output(tanh(parameter(graph, model.w)) * constant(graph, {4}, 2.0f));
    }
  }

  Bits run() { return run(setting.samples); }
  Bits run(std::size_t samples) {
    record(samples);
    const float loss = batch->forward();
    return Bits::of(model, loss, setting.inference ? nullptr : &batch->backward());
  }

  // Values in the middle, and what is recorded and taken back.
  void wander() {
    ComputationGraph& graph = batch->new_graph();
    const Expression x = lookup(graph, model.words, 3);
    const Expression y = parameter(graph, model.w) * x;
    y.value();
    graph.checkpoint();
    tanh(y + x).value();
    graph.checkpoint();
    batch->compute({exp(y), y - x});
    graph.revert();
    graph.revert();
    batch->add_loss(sum_elems(sigmoid(y)));
    y.label("a label that is longer than a string without memory of its own");
    batch->explain();
  }

  Setting setting;
  std::vector<std::uint64_t> seeds = std::vector<std::uint64_t>(100, 7);
  GraphOptions options;
  KnownModel model;
  std::optional<Minibatch> batch;
  Gradients gradients;
  AdamTrainer trainer{model.collection, 0.01f};
  ComputationGraph outsider;  ///< another graph, which nothing may touch
  Expression outsider_value;
  float outsider_bits = 0;
};

class FailingAllocations : public ::testing::TestWithParam<Setting> {
 protected:
  // What a world gives that nothing happened to.
  Bits expected_bits() {
    World world(GetParam());
    world.start_anew();
    Bits bits = world.run();
    // The setting is what its name says.
    EXPECT_EQ(world.batch->parts() > 1, GetParam().memory_limit != 0);
    if (GetParam().threads == 2) {
      EXPECT_GE(world.batch->explain().nodes, 200u);
    }
    return bits;
  }

  void expect_good(World& world, const Bits& expected) {
    world.start_anew();
    EXPECT_TRUE(world.run() == expected);
    EXPECT_EQ(as_scalar(world.outsider_value.value()), world.outsider_bits);
    EXPECT_EQ(as_scalar((world.outsider_value * 2.0f).value()), world.outsider_bits * 2);
  }

  // Runs `exercise` with failing allocations.
  template <class Exercise>
  void fail_all(const Exercise& exercise) {
    const Bits expected = expected_bits();
    const std::vector<std::byte> parameters = World(GetParam()).model.bytes();
    const std::size_t allocations =
        failing::fail_allocations([&] { return std::make_unique<World>(GetParam()); }, exercise,
                                  [&](World& world, const Outcome&) {
                                    EXPECT_EQ(world.model.bytes(), parameters);
                                    expect_good(world, expected);
                                  });
    EXPECT_GT(allocations, 50u);
  }
};

TEST_P(FailingAllocations, LeaveAMinibatchAsGoodAsNew) {
  fail_all([](World& world) { world.run(); });
}

// Whoever has no memory any more can still give some back.
TEST_P(FailingAllocations, AreNotNeededToClear) {
  World world(GetParam());
  world.wander();
  world.run();
  const Outcome outcome = failing::run_failing(1, Mode::from_then_on, [&] {
    world.batch->clear();
    world.gradients.clear();
    world.outsider.clear();
  });
  EXPECT_FALSE(outcome.fired);
}

class FailingAllocationsOfEveryKind : public FailingAllocations {};

TEST_P(FailingAllocationsOfEveryKind, InAMinibatchThatIsUsedAgain) {
  fail_all([](World& world) {
    world.wander();
    world.run(2);
    world.batch->clear();
    world.run(kSamples + 2);
    world.batch->clear();
    world.wander();
  });
}

// Without `clear`: what failed is computed when it is asked for again.
TEST_P(FailingAllocationsOfEveryKind, InARunThatIsRepeated) {
  World untouched(GetParam());
  untouched.start_anew();
  const Bits expected = untouched.run();
  const auto make_world = [&] {
    auto world = std::make_unique<World>(GetParam());
    world->start_anew();
    world->record(world->setting.samples);
    return world;
  };
  const auto run = [](World& world) {
    const float loss = world.batch->forward();
    return Bits::of(world.model, loss,
                    world.setting.inference ? nullptr : &world.batch->backward());
  };
  failing::fail_allocations(make_world, run, [&](World& world, const Outcome&) {
    EXPECT_TRUE(run(world) == expected);
    EXPECT_TRUE(run(world) == expected);
  });
}

TEST_P(FailingAllocationsOfEveryKind, InAccumulatedGradientsAndUpdates) {
  if (GetParam().inference) return;  // there are none
  const auto make_world = [&] {
    auto world = std::make_unique<World>(GetParam());
    world->start_anew();
    return world;
  };
  bool updated = false;
  const auto exercise = [&](World& world) {
    updated = false;
    world.record(world.setting.samples);
    world.batch->forward();
    world.batch->backward(world.gradients);
    world.batch->backward(world.gradients);
    world.trainer.update(world.gradients);
    updated = true;
  };
  const auto untouched = make_world();
  const std::vector<std::byte> before = untouched->model.bytes();
  exercise(*untouched);
  const std::vector<std::byte> after = untouched->model.bytes();
  const std::size_t allocations =
      failing::fail_allocations(make_world, exercise, [&](World& world, const Outcome& outcome) {
        EXPECT_EQ(updated, !outcome.threw);
        EXPECT_EQ(world.model.bytes(), updated ? after : before);
        if (updated) return;
        world.start_anew();
        world.gradients.clear();
        exercise(world);
        EXPECT_EQ(world.model.bytes(), after);
      });
  EXPECT_GT(allocations, 50u);
}

std::vector<Setting> main_settings() {
  Setting one{"one_thread"}, parts{"parts"}, inference{"inference_in_parts"}, two{"two_threads"};
  parts.memory_limit = 20000;
  inference.inference = true;
  inference.memory_limit = 10000;
  two.threads = 2;
  two.beside_each_other = true;
  return {one, parts, inference, two};
}

std::vector<Setting> all_settings() {
  Setting inference{"inference"}, two{"two_threads_recorded_by_one"};
  inference.inference = true;
  two.threads = 2;
  Setting checks{"checks", 2}, depth{"depth", 3}, none{"none", 3};
  checks.checks = true;
  depth.policy = batching::Policy::depth;
  none.policy = batching::Policy::none;
  std::vector<Setting> all = main_settings();
  all.insert(all.end(), {inference, two, checks, depth, none});
  return all;
}

std::string name_of_setting(const ::testing::TestParamInfo<Setting>& setting) {
  return setting.param.name;
}

INSTANTIATE_TEST_SUITE_P(All, FailingAllocations, ::testing::ValuesIn(all_settings()),
                         name_of_setting);
INSTANTIATE_TEST_SUITE_P(Main, FailingAllocationsOfEveryKind, ::testing::ValuesIn(main_settings()),
                         name_of_setting);

// A graph alone: values, gradients and everything anew, on the same graph.
TEST(FailingAllocationsOfAGraph, LeaveItAsGoodAsNew) {
  struct Alone {
    KnownModel model;
    ComputationGraph graph;

    void start_anew() {
      graph.clear();
      graph.set_seed(7);
    }
    Bits run() {
      const Expression loss = model.loss_of(graph, 2) + model.loss_of(graph, 3);
      const float value = as_scalar(loss.value());
      return Bits::of(model, value, &graph.backward(loss, true));
    }
  };
  Alone untouched;
  untouched.start_anew();
  const Bits expected = untouched.run();
  const std::size_t allocations =
      failing::fail_allocations([] { return std::make_unique<Alone>(); },
                                [](Alone& world) {
                                  world.run();
                                  world.graph.clear();
                                  world.run();
                                },
                                [&](Alone& world, const Outcome&) {
                                  world.start_anew();
                                  EXPECT_TRUE(world.run() == expected);
                                });
  EXPECT_GT(allocations, 50u);
}

// Making and destroying graphs and minibatches: whatever fails, the next one works.
TEST(FailingAllocationsOfAGraph, LeaveNothingBehindWhenItIsMade) {
  struct Nothing {};
  const KnownModel model;
  for (const unsigned threads : {1u, 3u}) {
    const auto exercise = [&](Nothing&) {
      const GraphOptions options = {.threads = threads};
      ComputationGraph graph(options);
      Minibatch batch(options);
      for (unsigned i = 0; i < 20; ++i) batch.new_graph();
    };
    const std::size_t allocations =
        failing::fail_allocations([] { return std::make_unique<Nothing>(); }, exercise,
                                  [&](Nothing& nothing, const Outcome&) { exercise(nothing); });
    EXPECT_GT(allocations, 50u);
  }
}

constexpr std::size_t kWaitingSamples = 5;

struct SampleWorld {
  explicit SampleWorld(unsigned threads) {
    const GraphOptions options = {
        .threads = threads, .inference = true, .stack_bytes = std::size_t{128} << 10};
    batch.emplace(options);
  }

  // From here dropout draws the same numbers each time.
  void start_anew() {
    batch->clear();
    batch->seed_samples(seeds);
  }

  // Samples of different lengths, that decide by what they read.
  float walk(ComputationGraph& graph, std::size_t sample) const {
    Expression loss = model.loss_of(graph, sample);
    for (std::size_t i = 0; i < 1 + sample % 3; ++i) {
      const bool is_odd = static_cast<int>(as_scalar(loss.value()) * 8) % 2 != 0;
      loss = loss + (is_odd ? model.loss_of(graph, sample + i) : tanh(loss));
    }
    return as_scalar(loss.value());
  }

  std::vector<float> run_all() {
    start_anew();
    return for_each_sample(*batch, kWaitingSamples,
                           [&](ComputationGraph& graph, std::size_t i) { return walk(graph, i); });
  }

  std::vector<float> run_arriving() {
    start_anew();
    std::vector<float> results(kWaitingSamples);
    std::size_t come = 0;
    const auto next = [&](bool) -> std::optional<std::size_t> {
      if (come == kWaitingSamples) return std::nullopt;
      return come++;
    };
    for_each_arriving(*batch, 4, next,
                      [&](ComputationGraph& graph, std::size_t i) { results[i] = walk(graph, i); });
    return results;
  }

  KnownModel model;
  std::vector<std::uint64_t> seeds = std::vector<std::uint64_t>(kWaitingSamples, 7);
  std::optional<Minibatch> batch;
};

struct SampleSetting {
  const char* name;
  std::vector<float> (SampleWorld::*run)();
  unsigned threads;
};

class FailingSamples : public ::testing::TestWithParam<SampleSetting> {};

TEST_P(FailingSamples, LeaveAMinibatchAsGoodAsNew) {
  failing::expect_as_good_as_new([] { return std::make_unique<SampleWorld>(GetParam().threads); },
                                 [](SampleWorld& world) { return (world.*GetParam().run)(); });
}

const SampleSetting kSettings[] = {{"all", &SampleWorld::run_all, 1},
                                   {"all_threads", &SampleWorld::run_all, 2},
                                   {"arriving", &SampleWorld::run_arriving, 1},
                                   {"arriving_threads", &SampleWorld::run_arriving, 2}};

INSTANTIATE_TEST_SUITE_P(Samples, FailingSamples, ::testing::ValuesIn(kSettings),
                         [](const ::testing::TestParamInfo<SampleSetting>& setting) {
                           return std::string(setting.param.name);
                         });

}  // namespace
}  // namespace dynet_like
