// A training run in which memory runs out goes on with the same bits, whichever allocation fails.
#include "tests/failing/failing_allocations.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/train/training_run.h"

namespace dynet_like::nn {
namespace {

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
