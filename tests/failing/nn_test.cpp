// Searches and training runs while memory is out: after `clear`, or in the same run, they go on
// with the same bits.
#include "nn/train/training_run.h"
#include "tests/decode/decoders.h"
#include "tests/failing/failing_allocations.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

// What searches found: numbers of actions, actions, and bits of scores.
using Found = std::vector<double>;

template <class State>
void add(Found& all, const Hypothesis<State>& found) {
  all.push_back(static_cast<double>(found.actions.size()));
  all.insert(all.end(), found.actions.begin(), found.actions.end());
  all.push_back(found.sum);
}

struct World {
  explicit World(unsigned threads) {
    const GraphOptions options = {
        .threads = threads, .inference = true, .stack_bytes = std::size_t{128} << 10};
    batch.emplace(options);
  }

  Found search(ComputationGraph& graph, std::size_t sample) const {
    const SearchOptions options = {.end = kEnd, .max_length = 3, .beam = 2, .n_best = 2};
    Found all;
    const LSTM::State start = model.start(graph, sample);
    for (const auto& found : beam_search(start, model.batched_steps(), options)) add(all, found);
    for (const auto& found : beam_search(Parse{2, {}}, parser(model, graph))) add(all, found);
    add(all, greedy(start, model.steps(), options));
    Random random(sample);
    for (const auto& found : samples(start, model.steps(), 2, random, options)) add(all, found);
    return all;
  }
  std::vector<Found> run() {
    batch->clear();
    return for_each_sample(
        *batch, 2, [&](ComputationGraph& graph, std::size_t i) { return search(graph, i); });
  }

  Model model;
  std::optional<Minibatch> batch;
};

TEST(FailingSearches, LeaveAMinibatchAsGoodAsNew) {
  for (const unsigned threads : {1u, 2u}) {
    failing::expect_as_good_as_new([=] { return std::make_unique<World>(threads); },
                                   [](World& world) { return world.run(); });
  }
}

TEST(FailingSearches, LeaveAGraphAsGoodAsNew) {
  struct Alone : World {
    Alone() : World(1) {}
    ComputationGraph graph;
  };
  failing::expect_as_good_as_new([] { return std::make_unique<Alone>(); },
                                 [](Alone& world) {
                                   world.graph.clear();
                                   return world.search(world.graph, 1);
                                 });
}

using failing::Outcome;

struct Program {
  ParameterCollection model;
  LookupParameter table = model.add_lookup_parameters(5, {3});
  Parameter w = model.add_parameters({2, 3});
  AdamTrainer trainer = AdamTrainer(model, 0.1f);
  std::unique_ptr<TrainingRun> run;
  std::unique_ptr<Minibatch> batch;

  Program() {
    trainer.exponential_moving_average(0.5f);
    TrainingOptions options;
    options.epochs = 2;
    options.batch_size = 2;
    options.accumulate = 2;
    options.schedule.rate = WarmUp{3, 0.1f};
    options.schedule.plateau = Plateau{};
    options.report.lines = nullptr;
    run = std::make_unique<TrainingRun>(trainer, options);
    batch = std::make_unique<Minibatch>();
  }

  void train() {
    while (run->next_epoch(5)) {
      while (run->next(*batch)) {
        const auto& samples = run->samples();
        for (const std::uint32_t sample : samples) {
          ComputationGraph& graph = batch->new_graph();
          const Expression x = dropout(lookup(graph, table, sample), 0.3f);
          batch->add_loss(cross_entropy(parameter(graph, w) * x, sample % 2));
        }
        run->update(*batch);
      }
      run->finish_epoch([&] { return -run->progress().mean_loss(); });
    }
  }

  std::vector<float> values() const {
    std::vector<float> values = as_vector(w.values()), rows = as_vector(table.all_values());
    values.insert(values.end(), rows.begin(), rows.end());
    return values;
  }
};

TEST(FailingTrainingTest, GoesOnWithTheSameBits) {
  Program untouched;
  untouched.train();
  const std::vector<float> expected = untouched.values();
  std::size_t failures = 0;
  failing::fail_allocations(
      [] { return std::make_unique<Program>(); }, [](Program& program) { program.train(); },
      [&](Program& program, const Outcome& outcome) {
        failures += outcome.threw;
        if (outcome.threw) program.train();
        ASSERT_EQ(program.values(), expected);
        ASSERT_EQ(program.run->curve().to_csv(), untouched.run->curve().to_csv());
      });
  EXPECT_GT(failures, kSlowBuild ? 5u : 20u);
}

}  // namespace
}  // namespace dynet_like::nn
