// Groups by epochs: what is frozen, what that saves, and what is refused.
#include "nn/train/group_schedule.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/training_program.h"

namespace dynet_like::nn {
namespace {

using namespace training_program;

const std::vector<ParameterGroup> kFrozen = {{.pattern = "/embedding*", .frozen = true}};

Setting with_groups(const std::vector<GroupsFrom>& groups) {
  return {"groups", [groups](TrainingOptions& options) { options.schedule.groups = groups; }};
}

std::vector<float> embeddings(const Program& program) {
  return as_vector(program.model.storages()[0]->tensor());
}

TEST(GroupScheduleTest, FreezesByEpochs) {
  Program program(with_groups({{1, kFrozen}, {2, {}}, {3, {{.pattern = "*", .frozen = true}}}}));
  std::vector<std::vector<float>> tables = {embeddings(program)}, values;
  program.train({}, [&](TrainingRun&, int minibatch) {
    if (minibatch % kMinibatches != kMinibatches - 1) return;
    tables.push_back(embeddings(program));
    values.push_back(program.values());
  });
  ASSERT_EQ(tables.size(), 4u);
  EXPECT_EQ(tables[1], tables[0]);
  EXPECT_NE(tables[2], tables[1]);
  EXPECT_EQ(tables[3], tables[2]);
  EXPECT_NE(values[1], values[0]);
  EXPECT_EQ(values[2], values[1]);
  EXPECT_EQ(program.run->progress().updates, 3u * kMinibatches);
}

// The bits are those of a trainer that has got its groups by hand.
TEST(GroupScheduleTest, IsLikeGroupsSetByHand) {
  Program scheduled(with_groups({{2, kFrozen}, {3, {{.pattern = "*/W", .rate = 0.5f}}}})),
      by_hand(kPlain);
  scheduled.train();
  by_hand.train([&](TrainingRun&, int minibatch) {
    if (minibatch == 7) by_hand.trainer.set_groups(kFrozen);
    if (minibatch == 14) by_hand.trainer.set_groups({{.pattern = "*/W", .rate = 0.5f}});
  });
  EXPECT_EQ(scheduled.values(), by_hand.values());
}

TEST(GroupScheduleTest, WhatIsFrozenCostsNoBackwardPass) {
  ParameterCollection model;
  const Linear first(model, 4, 4, {.name = "first"}), second(model, 4, 4, {.name = "second"});
  SimpleSGDTrainer trainer(model);
  TrainingOptions options;
  options.epochs = 2;
  options.report.lines = nullptr;
  options.schedule.groups = {{1, {{.pattern = "/first/*", .frozen = true}}}, {2, {}}};
  std::vector<std::uint64_t> calls;
  Minibatch batch;
  TrainingRun run(trainer, options);
  while (run.next_epoch(1)) {
    while (run.next(batch)) {
      ComputationGraph& graph = batch.new_graph();
      const Expression x = tanh(first(input(graph, {4}, {1, 2, 3, 4})));
      batch.add_loss(cross_entropy(second(x), 1));
      batch.forward();
      const std::uint64_t before = batch.explain().kernel_calls;
      const Gradients& gradients = batch.backward();
      calls.push_back(batch.explain().kernel_calls - before);
      EXPECT_EQ(gradients.find_dense(first.weights().get_storage()) != nullptr,
                run.progress().epochs == 1);
      EXPECT_NE(gradients.find_dense(second.weights().get_storage()), nullptr);
      run.update(gradients, 1, 1);
    }
    run.finish_epoch();
  }
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0] + 2, calls[1]);  // tanh, and the first product
}

// Whatever a run does, or does not come to, graphs have all gradients after it.
TEST(GroupScheduleTest, NothingStaysFrozen) {
  Program program(with_groups({{1, kFrozen}}));
  const auto table_has_gradient = [&] {
    ComputationGraph graph({.seed = 1});
    const Gradients& gradients = graph.backward(program.loss(graph, 3));
    return gradients.find_rows(*program.model.storages()[0]) != nullptr;
  };
  ASSERT_TRUE(program.run->next_epoch(kSamples));
  EXPECT_FALSE(table_has_gradient());
  program.run->stop();
  EXPECT_FALSE(program.run->next_epoch(kSamples));
  EXPECT_TRUE(table_has_gradient());
  EXPECT_FALSE(program.trainer.groups().empty());  // a checkpoint may still be saved
  program.run.reset();
  EXPECT_TRUE(program.trainer.groups().empty());
  {
    GroupSchedule schedule(program.model, program.trainer, {{1, kFrozen}});
    schedule.begin_epoch(1);
    EXPECT_FALSE(table_has_gradient());
  }
  EXPECT_TRUE(table_has_gradient());
}

TEST(GroupScheduleTest, IsChecked) {
  const auto make = [](const std::vector<GroupsFrom>& groups) {
    return [groups] { Program{with_groups(groups)}; };
  };
  EXPECT_EQ(message_of<UsageError>(make({{0, kFrozen}})),
            "[GroupSchedule] need stages that begin at epoch 1 or later, each after the one before "
            "it; got 0 after 0");
  EXPECT_THROW(make({{2, kFrozen}, {2, {}}})(), UsageError);
  EXPECT_THROW(make({{1, {}}, {9, {{.pattern = "/nothing"}}}})(), UsageError);
  EXPECT_THROW(make({{1, {{.pattern = "*", .rate = -1}}}})(), UsageError);
  Setting both = with_groups({{1, kFrozen}});
  both.trainer = [](Trainer& trainer) { trainer.set_groups(kFrozen); };
  EXPECT_EQ(message_of<UsageError>([&] { Program{both}; }),
            "[GroupSchedule] need a trainer without groups of its own; got one with some: put them "
            "into the schedule");
}

TEST(GroupScheduleTest, IsASettingOfCheckpoints) {
  const std::string folder = new_folder("groups"), file = folder + "/checkpoint.safetensors";
  const Setting setting = with_groups({{2, kFrozen}});
  Program(setting, folder).train();
  EXPECT_EQ(message_of<UsageError>([&] {
              Program(with_groups({{3, kFrozen}}), folder, true);
            }),
            "[TrainingRun] need the same settings to go on from " + file +
                ": training.groups was \"from epoch 2: \"/embedding*\": frozen\"; got \"from epoch "
                "3: \"/embedding*\": frozen\"");
  EXPECT_THROW(Program(kPlain, folder, true), UsageError);
  EXPECT_NO_THROW(Program(setting, folder, true));
}

}  // namespace
}  // namespace dynet_like::nn
