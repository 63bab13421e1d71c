// What a loop may do wrong, and a training run says.
#include "tests/support/message_of.h"
#include "tests/support/one_weight.h"
#include "tests/support/precompiled.h"
#include "tests/support/training_program.h"

namespace dynet_like::nn {
namespace {

using namespace training_program;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Minibatches of two samples, whose gradients add up to 2 whatever is added to the loss.
struct TwoSamples : OneWeight {
  TwoSamples() { options.sum_losses = true; }

  void add_losses(float added) {
    batch.add_loss(parameter(batch.new_graph(), w));
    ComputationGraph& graph = batch.new_graph();
    const Expression term = log(input(graph, std::exp(added)));  // node 1
    batch.add_loss(term + parameter(graph, w));
  }
};

TEST(TrainingMistakesTest, CallsOutOfOrderAreRefused) {
  Program program(kPlain);
  TrainingRun& run = *program.run;
  const auto refuses = [&](const std::function<void()>& call) {
    EXPECT_NE(message_of<UsageError>(call), "nothing was thrown");
  };
  const auto next = [&] { run.next(*program.batch); };
  const auto update = [&] { run.update(*program.batch); };
  const auto finish = [&] { run.finish_epoch(1); };
  for (const auto& call : std::vector<std::function<void()>>{
           next, update, finish, [&] { run.save(); }, [&] { run.samples(); }}) {
    refuses(call);
  }
  ASSERT_TRUE(run.next_epoch(kSamples));
  refuses(finish);
  refuses(update);
  while (run.next(*program.batch)) refuses(finish);
  refuses(next);
  refuses(update);
  refuses([&] { run.next_epoch(kSamples); });
  run.finish_epoch(1);
}

TEST(TrainingMistakesTest, LossesThatAreNotFiniteAreNamed) {
  for (const unsigned accumulate : {1, 2}) {
    TwoSamples two;
    two.options.accumulate = accumulate;
    TrainingRun run(two.trainer, two.options);
    const auto train = [&](float added) {
      two.epoch(run, Minibatches{{4, 5}, {6, 7}}, [&](const auto& samples) {
        two.add_losses(samples[0] == 6 ? added : 0);
        run.update(two.batch);
      });
    };
    EXPECT_EQ(message_of<NumericError>([&] { train(-kInfinity); }),
              "[Minibatch] need a finite loss; got -inf in sample 1; [detect_anomaly] need finite "
              "numbers; got -inf in element 0 of the value of log, node 1 of sample 1; in "
              "minibatch 2 of epoch 1");
    // As if the minibatch had not been there; on with the last update.
    EXPECT_EQ(two.value(), accumulate == 1 ? 6.0f : 8.0f);
    train(0);
    EXPECT_EQ(two.value(), 4.0f);
    EXPECT_TRUE(std::isfinite(run.progress().mean_loss()));
  }
}

TEST(TrainingMistakesTest, AMeanOfNoLosses) {
  TwoSamples two;
  two.options.sum_losses = false;
  TrainingRun run(two.trainer, two.options);
  EXPECT_EQ(message_of<UsageError>([&] {
              two.epoch(run, Minibatches{{0, 1}}, [&](const auto&) {
                two.add_losses(0);
                run.update(two.batch, 0);
              });
            }),
            "[TrainingRun] need the number of losses in minibatch 1 of epoch 1, to divide by it; "
            "got 0");
  EXPECT_EQ(two.value(), 8.0f);
}

TEST(TrainingMistakesTest, ASecondUpdateOfAMinibatch) {
  const auto message = [](unsigned accumulate, bool records_again) {
    TwoSamples two;
    two.options.accumulate = accumulate;
    TrainingRun run(two.trainer, two.options);
    return message_of<UsageError>([&] {
      two.epoch(run, Minibatches{{0, 1}, {2, 3}}, [&](const auto&) {
        two.add_losses(0);
        run.update(two.batch);
        if (records_again) two.add_losses(0);
        run.update(two.batch);
      });
    });
  };
  const std::string expected =
      "[TrainingRun] need a minibatch without losses that were trained on; got one with 2 of them: "
      "update() it once, or clear() it before";
  EXPECT_EQ(message(1, false), expected);
  EXPECT_EQ(message(2, false), expected);
  EXPECT_EQ(message(2, true), expected);
  // After an update already the next loss is refused.
  EXPECT_EQ(message(1, true).find("[add_loss] need a minibatch that was cleared since "), 0u);
}

// Another minibatch each time, at the same place.
TEST(TrainingMistakesTest, MinibatchesOfTheLoopNeedNoClear) {
  TwoSamples two;
  TrainingRun run(two.trainer, two.options);
  two.epoch(run, Minibatches{{0}, {1}, {2}}, [&](const auto&) {
    Minibatch batch;
    batch.add_loss(parameter(batch.new_graph(), two.w));
    EXPECT_NO_THROW(run.update(batch));
  });
}

// The last minibatch of an update may be one of them. What is passed over is done.
TEST(TrainingMistakesTest, MinibatchesMayBePassedOver) {
  for (const unsigned shards : {1u, 2u}) {
    Program program(kPlain.with([&](TrainingOptions& options) {
      options.accumulate = 2;
      options.ranks.shards = shards;
    }));
    const std::vector<float> before = program.values();
    ASSERT_TRUE(program.run->next_epoch(Minibatches{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}}));
    while (program.run->next(*program.batch)) {
      const std::uint32_t sample = program.run->samples()[0];
      if (sample == 0) {
        program.record();
        program.run->update(*program.batch);
      }
      EXPECT_EQ(program.values() == before, sample <= 2);
      if (sample == 4) program.run->stop();
    }
    EXPECT_EQ(program.run->progress().updates, 1u);
    EXPECT_EQ(program.run->progress().minibatches, 3u);
  }
}

// The minibatches that wait for an update are lost with the one that fails.
TEST(TrainingMistakesTest, AFailedMinibatchThatTheLoopPassesOver) {
  TwoSamples two;
  two.options.accumulate = 2;
  TrainingRun run(two.trainer, two.options);
  two.epoch(run, Minibatches{{0, 1}, {2, 3}, {4, 5}, {6, 7}}, [&](const auto& samples) {
    two.add_losses(samples[0] == 2 ? kInfinity : 0);
    if (samples[0] == 2) {
      EXPECT_THROW(run.update(two.batch), NumericError);
    } else {
      run.update(two.batch);
    }
  });
  run.finish_epoch();
  EXPECT_EQ(two.value(), 8.0f - 4);
  EXPECT_EQ(run.progress().updates, 1u);
}

TEST(TrainingMistakesTest, GradientsOfAnotherUpdate) {
  for (const unsigned accumulate : {1, 2}) {
    TwoSamples two;
    two.options.accumulate = accumulate;
    TrainingRun run(two.trainer, two.options);
    Gradients gradients;
    const auto train = [&](bool computes) {
      two.epoch(run, Minibatches{{0}, {1}}, [&](const auto&) {
        if (computes) {
          gradients.clear();
          ComputationGraph graph;
          graph.backward(parameter(graph, two.w), gradients);
        }
        run.update(gradients, 1, 1);
      });
    };
    train(true);
    run.finish_epoch();
    EXPECT_EQ(two.value(), 6.0f);
    EXPECT_EQ(message_of<UsageError>([&] { train(false); }),
              "[TrainingRun] need gradients that no update has used; got some that one has: clear "
              "and compute them for each minibatch");
    EXPECT_EQ(two.value(), 6.0f);
    gradients.clear();
    EXPECT_EQ(
        message_of<UsageError>([&] {
          two.epoch(run, Minibatches{{0, 1}}, [&](const auto&) { run.update(gradients, 0, 0); });
        }),
        "[TrainingRun] need gradients or losses of minibatch 1 of epoch 2; got neither");
  }
}

// Nothing was updated by them.
TEST(TrainingMistakesTest, GradientsOfAnUpdateThatFailedAreNotUsed) {
  TwoSamples two;
  TrainingRun run(two.trainer, two.options);
  Gradients gradients;
  ComputationGraph graph;
  graph.backward(parameter(graph, two.w), gradients);
  const auto train = [&](double loss) {
    two.epoch(run, Minibatches{{0}}, [&](const auto&) { run.update(gradients, loss, 1); });
  };
  EXPECT_EQ(message_of<NumericError>([&] { train(std::nan("")); }),
            "[TrainingRun] need a finite loss; got nan");
  EXPECT_EQ(two.value(), 8.0f);
  train(1);
  EXPECT_EQ(two.value(), 7.0f);
  EXPECT_TRUE(gradients.is_used());
}

// What a server refuses is told each time, and may be mended.
TEST(TrainingMistakesTest, ALoopThatDidNotBeginIsNotInTheWay) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "a server needs parameters on the CPU";
  ParameterCollection model;
  const LookupParameter table = model.add_lookup_parameters(2, {1}, ParameterInitConst(8), "table");
  SimpleSGDTrainer trainer(model, 1);
  TrainingOptions options;
  options.report.lines = nullptr;
  options.ranks.relaxation = Relaxation{};
  options.sum_losses = true;
  TrainingRun run(trainer, options);
  Minibatch batch;
  trainer.sparse_updates = SparseUpdates::exact;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(message_of<UsageError>([&] { run.next_epoch(2); }).find("[ParameterServer] "), 0u);
  }
  trainer.sparse_updates = SparseUpdates::lazy;
  ASSERT_TRUE(run.next_epoch(2));
  while (run.next(batch)) {
    for (const std::uint32_t sample : run.samples()) {
      batch.add_loss(lookup(batch.new_graph(), table, sample));
    }
    run.update(batch);
  }
  run.finish_epoch();
  EXPECT_EQ(as_vector(table.all_values()), (std::vector<float>{7, 7}));
}

}  // namespace
}  // namespace dynet_like::nn
