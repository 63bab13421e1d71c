// What a loop may do wrong, and a training run says.
#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/message_of.h"
#include "tests/support/training_program.h"

namespace dynet_like::nn {
namespace {

using namespace training_program;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A model of one weight, and minibatches of two samples.
struct TwoSamples {
  ParameterCollection model;
  Parameter w = model.add_parameters({1}, ParameterInitConst(8));
  SimpleSGDTrainer trainer = SimpleSGDTrainer(model, 1);
  Minibatch batch;
  TrainingOptions options;

  TwoSamples() {
    options.lines = nullptr;
    options.sum_losses = true;
  }

  // The gradient is 1 whatever is added.
  void add_losses(float added) {
    batch.add_loss(parameter(batch.new_graph(), w));
    ComputationGraph& graph = batch.new_graph();
    const Expression term = log(input(graph, std::exp(added)));  // node 1
    batch.add_loss(term + parameter(graph, w));
  }
};

TEST(TrainingMistakesTest, LossesThatAreNotFiniteAreNamed) {
  for (const unsigned accumulate : {1, 2}) {
    TwoSamples two;
    two.options.accumulate = accumulate;
    TrainingRun run(two.model, two.trainer, two.options);
    ASSERT_TRUE(run.next_epoch());
    const auto train = [&](float added) {
      for (const auto& samples : run.minibatches(two.batch, Minibatches{{4, 5}, {6, 7}})) {
        two.add_losses(samples[0] == 6 ? added : 0);
        run.update(two.batch);
      }
    };
    EXPECT_EQ(message_of<NumericError>([&] { train(-kInfinity); }),
              "[Minibatch] need a finite loss; got -inf in sample 1; [detect_anomaly] need finite "
              "numbers; got -inf in element 0 of the value of log, node 1 of sample 1; in "
              "minibatch 2 of epoch 1");
    // As if the minibatch had not been there; on with the last update.
    EXPECT_EQ(as_scalar(two.w.values()), accumulate == 1 ? 6.0f : 8.0f);
    ASSERT_TRUE(run.next_epoch());
    train(0);
    EXPECT_EQ(as_scalar(two.w.values()), 4.0f);
    EXPECT_TRUE(std::isfinite(run.progress().mean_loss()));
  }
}

TEST(TrainingMistakesTest, LossesThatAreNotFiniteMayBeSkipped) {
  TwoSamples two;
  two.options.not_finite = NotFinite::skip;
  TrainingRun run(two.model, two.trainer, two.options);
  ASSERT_TRUE(run.next_epoch());
  for (const auto& samples : run.minibatches(two.batch, Minibatches{{4, 5}, {6, 7}})) {
    two.add_losses(samples[0] == 6 ? -kInfinity : 0);
    run.update(two.batch);
  }
  EXPECT_EQ(as_scalar(two.w.values()), 6.0f);
  EXPECT_EQ(run.progress().skipped, 1u);
  EXPECT_EQ(run.progress().mean_loss(), 8);
}

TEST(TrainingMistakesTest, LossesOfYourOwnAreFinite) {
  TwoSamples two;
  TrainingRun run(two.model, two.trainer, two.options);
  ASSERT_TRUE(run.next_epoch());
  const auto train = [&] {
    for (const auto& samples : run.minibatches(two.batch, 2)) {
      run.update(Gradients(), std::nan(""), samples.size());
    }
  };
  EXPECT_EQ(message_of<NumericError>(train), "[TrainingRun] need a finite loss; got nan");
}

TEST(TrainingMistakesTest, ATrainerOfOtherParameters) {
  TwoSamples two;
  ParameterCollection other;
  other.add_parameters({1}, "v");
  SimpleSGDTrainer trainer(other);
  EXPECT_EQ(message_of<UsageError>([&] { TrainingRun(two.model, trainer, two.options); }),
            "[TrainingRun] need a trainer whose parameters are all in the model; got one of "
            "\"/v\", which is not in \"/\": make it for the same collection");
}

TEST(TrainingMistakesTest, AMeanOfNoLosses) {
  TwoSamples two;
  two.options.sum_losses = false;
  TrainingRun run(two.model, two.trainer, two.options);
  ASSERT_TRUE(run.next_epoch());
  EXPECT_EQ(message_of<UsageError>([&] {
              for ([[maybe_unused]] const auto& samples : run.minibatches(two.batch, 2)) {
                two.add_losses(0);
                run.update(two.batch, 0);
              }
            }),
            "[TrainingRun] need the number of losses in minibatch 1 of epoch 1, to divide by it; "
            "got 0");
  EXPECT_EQ(as_scalar(two.w.values()), 8.0f);
}

TEST(TrainingMistakesTest, ASecondUpdateOfAMinibatch) {
  const auto message = [](unsigned accumulate, bool records_again) {
    TwoSamples two;
    two.options.accumulate = accumulate;
    TrainingRun run(two.model, two.trainer, two.options);
    run.next_epoch();
    return message_of<UsageError>([&] {
      for ([[maybe_unused]] const auto& samples :
           run.minibatches(two.batch, Minibatches{{0, 1}, {2, 3}})) {
        two.add_losses(0);
        run.update(two.batch);
        if (records_again) two.add_losses(0);
        run.update(two.batch);
      }
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

// The last minibatch of an update may be one of them. What is passed over is done.
TEST(TrainingMistakesTest, MinibatchesMayBePassedOver) {
  for (const unsigned shards : {1u, 2u}) {
    Program program({"plain"}, "", false, [&](TrainingOptions& options) {
      options.accumulate = 2;
      options.shards = shards;
    });
    const std::vector<float> before = program.values();
    ASSERT_TRUE(program.run->next_epoch());
    for (const auto& samples : program.run->minibatches(
             *program.batch, Minibatches{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}})) {
      if (samples[0] == 0) {
        for (const std::uint32_t sample : samples) {
          program.batch->add_loss(program.loss(program.batch->new_graph(), sample, true));
        }
        program.run->update(*program.batch);
      }
      if (samples[0] == 2) {
        EXPECT_EQ(program.values(), before);
      }
      if (samples[0] == 4) {
        EXPECT_NE(program.values(), before);
        program.run->stop();
      }
    }
    EXPECT_EQ(program.run->progress().updates, 1u);
    EXPECT_EQ(program.run->progress().minibatches, 3u);
  }
}

// The minibatches that wait for an update are lost with the one that fails.
TEST(TrainingMistakesTest, AFailedMinibatchThatTheLoopPassesOver) {
  TwoSamples two;
  two.options.accumulate = 2;
  TrainingRun run(two.model, two.trainer, two.options);
  ASSERT_TRUE(run.next_epoch());
  for (const auto& samples :
       run.minibatches(two.batch, Minibatches{{0, 1}, {2, 3}, {4, 5}, {6, 7}})) {
    two.add_losses(samples[0] == 2 ? kInfinity : 0);
    if (samples[0] == 2) {
      EXPECT_THROW(run.update(two.batch), NumericError);
    } else {
      run.update(two.batch);
    }
  }
  run.finish_epoch();
  EXPECT_EQ(as_scalar(two.w.values()), 8.0f - 4);
  EXPECT_EQ(run.progress().updates, 1u);
}

TEST(TrainingMistakesTest, GradientsOfAnotherUpdate) {
  for (const unsigned accumulate : {1, 2}) {
    TwoSamples two;
    two.options.accumulate = accumulate;
    TrainingRun run(two.model, two.trainer, two.options);
    ASSERT_TRUE(run.next_epoch());
    Gradients gradients;
    const auto train = [&](bool computes) {
      for ([[maybe_unused]] const auto& samples :
           run.minibatches(two.batch, Minibatches{{0}, {1}})) {
        if (computes) {
          gradients.clear();
          ComputationGraph graph;
          graph.backward(parameter(graph, two.w), gradients);
        }
        run.update(gradients, 1, 1);
      }
    };
    train(true);
    run.finish_epoch();
    EXPECT_EQ(as_scalar(two.w.values()), 6.0f);
    ASSERT_TRUE(run.next_epoch());
    EXPECT_EQ(message_of<UsageError>([&] { train(false); }),
              "[TrainingRun] need gradients that no update has used; got some that one has: clear "
              "and compute them for each minibatch");
    EXPECT_EQ(as_scalar(two.w.values()), 6.0f);
    gradients.clear();
    ASSERT_TRUE(run.next_epoch());
    EXPECT_EQ(message_of<UsageError>([&] {
                for ([[maybe_unused]] const auto& samples : run.minibatches(two.batch, 2)) {
                  run.update(gradients, 0, 0);
                }
              }),
              "[TrainingRun] need gradients or losses of minibatch 1 of epoch 2; got neither");
  }
}

// Nothing was updated by them.
TEST(TrainingMistakesTest, GradientsOfAnUpdateThatFailedAreNotUsed) {
  TwoSamples two;
  TrainingRun run(two.model, two.trainer, two.options);
  Gradients gradients;
  ComputationGraph graph;
  graph.backward(parameter(graph, two.w), gradients);
  const auto train = [&](double loss) {
    EXPECT_TRUE(run.next_epoch());
    for ([[maybe_unused]] const auto& samples : run.minibatches(two.batch, Minibatches{{0}})) {
      run.update(gradients, loss, 1);
    }
  };
  EXPECT_THROW(train(std::nan("")), NumericError);
  EXPECT_EQ(as_scalar(two.w.values()), 8.0f);
  train(1);
  EXPECT_EQ(as_scalar(two.w.values()), 7.0f);
  EXPECT_TRUE(gradients.is_used());
}

// What a server refuses is told each time, and may be mended.
TEST(TrainingMistakesTest, ALoopThatDidNotBeginIsNotInTheWay) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "a server needs parameters on the CPU";
  ParameterCollection model;
  const LookupParameter table = model.add_lookup_parameters(2, {1}, ParameterInitConst(8), "table");
  SimpleSGDTrainer trainer(model, 1);
  TrainingOptions options;
  options.lines = nullptr;
  options.relaxation = Relaxation{};
  options.sum_losses = true;
  TrainingRun run(model, trainer, options);
  Minibatch batch;
  ASSERT_TRUE(run.next_epoch());
  trainer.sparse_updates = SparseUpdates::exact;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(message_of<UsageError>([&] { run.minibatches(batch, 2); }).find("[ParameterServer] "),
              0u);
  }
  trainer.sparse_updates = SparseUpdates::lazy;
  for (const auto& samples : run.minibatches(batch, 2)) {
    for (const std::uint32_t sample : samples) {
      batch.add_loss(lookup(batch.new_graph(), table, sample));
    }
    run.update(batch);
  }
  run.finish_epoch();
  EXPECT_EQ(as_vector(table.all_values()), (std::vector<float>{7, 7}));
}

// A note is of one epoch.
TEST(TrainingMistakesTest, NotesOfAnotherEpoch) {
  TwoSamples two;
  two.options.epochs = 3;
  TrainingRun run(two.model, two.trainer, two.options);
  while (run.next_epoch()) {
    for ([[maybe_unused]] const auto& samples : run.minibatches(two.batch, 2)) {
      two.add_losses(0);
      run.update(two.batch);
    }
    if (run.progress().epochs != 1) run.note("noted", run.progress().epochs);
    if (run.progress().epochs == 1) run.note("in the second", 7);
    run.finish_epoch();
  }
  const auto noted = [&](const char* name, unsigned epoch) {
    return run.curve().value(name, epoch);
  };
  EXPECT_EQ(noted("noted", 1), 0);
  EXPECT_EQ(noted("noted", 2), std::nullopt);
  EXPECT_EQ(noted("noted", 3), 2);
  EXPECT_EQ(noted("in the second", 1), std::nullopt);
  EXPECT_EQ(noted("in the second", 2), 7);
  EXPECT_EQ(noted("in the second", 3), std::nullopt);
}

// Another minibatch each time, at the same place.
TEST(TrainingMistakesTest, MinibatchesOfTheLoopNeedNoClear) {
  TwoSamples two;
  TrainingRun run(two.model, two.trainer, two.options);
  ASSERT_TRUE(run.next_epoch());
  for ([[maybe_unused]] const auto& samples : run.minibatches(two.batch, 3)) {
    Minibatch batch;
    batch.add_loss(parameter(batch.new_graph(), two.w));
    EXPECT_NO_THROW(run.update(batch));
  }
}

}  // namespace
}  // namespace dynet_like::nn
