// Losses of minibatches that are not finite, or that were trained on before.
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

class MinibatchLossesTest : public ::testing::Test {
 protected:
  void add_loss(Minibatch& batch, float x) {
    ComputationGraph& graph = batch.new_graph();
    const Expression logarithm = log(parameter(graph, w) * x);
    logarithm.label("logarithm");
    batch.add_loss(squared_norm(logarithm));
  }

  ParameterCollection model;
  Parameter w = model.add_parameters({1}, ParameterInitConst(1), "w");
  SimpleSGDTrainer trainer = SimpleSGDTrainer(model, 0.1f);
};

TEST_F(MinibatchLossesTest, ThatAreNotFiniteAreNamed) {
  GraphOptions parts, inference, threads;
  parts.memory_limit = 1;
  inference.inference = true;
  threads.threads = 2;
  for (const GraphOptions& options : {GraphOptions(), parts, inference, threads}) {
    Minibatch batch(options);
    for (int round = 0; round < 2; ++round) {
      batch.clear();
      for (const float x : {1, 2, 3, 0, 5, 0}) add_loss(batch, x);
      EXPECT_EQ(batch.forward(), std::numeric_limits<float>::infinity());
      const std::string message = message_of<NumericError>([&] { batch.check_finite_loss(); });
      EXPECT_EQ(message.find("[Minibatch] need a finite loss; got inf in sample 3; "
                             "[detect_anomaly] need finite numbers; got -inf in element 0 of the "
                             "value of log, node "),
                0u)
          << message;
      EXPECT_TRUE(mentions(message, " of sample 3 (\"logarithm\")"));
      // It goes on as if nothing had been asked.
      EXPECT_EQ(batch.forward(), std::numeric_limits<float>::infinity());
    }
    batch.clear();
    add_loss(batch, 1);
    EXPECT_EQ(batch.forward(), 0);
    EXPECT_NO_THROW(batch.check_finite_loss());
  }
}

TEST_F(MinibatchLossesTest, WhoseSumIsTooLarge) {
  Minibatch batch;
  for (int i = 0; i < 2; ++i) batch.add_loss(input(batch.new_graph(), 3e38f));
  EXPECT_EQ(batch.forward(), std::numeric_limits<float>::infinity());
  expect_refused<NumericError>("[Minibatch] need a finite sum of the losses; got inf",
                               [&] { batch.check_finite_loss(); });
}

TEST_F(MinibatchLossesTest, AForgottenClearIsRefused) {
  const GraphOptions parts{.memory_limit = 1};
  for (const GraphOptions& options : {GraphOptions(), parts}) {
    Minibatch batch(options);
    const auto step = [&](float x) {
      for (int i = 0; i < 2; ++i) add_loss(batch, x);
      batch.forward();
      trainer.update(batch.backward());
    };
    step(2);
    EXPECT_EQ(batch.losses().trained, 2u);
    expect_refused<UsageError>(
        "[add_loss] need a minibatch that was cleared since a trainer has used its gradients; "
        "got one with 2 losses that would be trained on again: call clear after an update",
        [&] { step(3); });
    batch.clear();
    EXPECT_EQ(batch.losses().trained, 0u);
    EXPECT_NO_THROW(step(3));
  }
}

TEST_F(MinibatchLossesTest, AForgottenClearOfGradientsIsRefused) {
  Minibatch batch;
  Gradients gradients;
  const auto step = [&] {
    batch.clear();
    add_loss(batch, 2);
    batch.forward();
    batch.backward(gradients);
    trainer.update(gradients);
  };
  step();
  const std::string expected =
      "[backward] need gradients that were cleared after a trainer used them; got some that it "
      "would use again: call Gradients::clear after an update";
  expect_refused<UsageError>(expected, step);
  ComputationGraph graph;
  const Expression loss = parameter(graph, w) * 2;
  expect_refused<UsageError>(expected, [&] { graph.backward(loss, gradients); });
  gradients.clear();
  EXPECT_NO_THROW(step());
  gradients.scale(0.5);  // on purpose
  EXPECT_NO_THROW(step());
}

// The same losses once more, with new parameters, or more of them before an update.
TEST_F(MinibatchLossesTest, MayBeTrainedOnAgain) {
  Minibatch batch;
  add_loss(batch, 2);
  for (int step = 0; step < 3; ++step) {
    batch.forward();
    EXPECT_NO_THROW(trainer.update(batch.backward()));
  }
  batch.clear();
  for (const float x : {2, 3}) {
    add_loss(batch, x);
    batch.forward();
    EXPECT_NO_THROW(batch.backward());
  }
}

}  // namespace
}  // namespace dynet_like
