// Groups of parameters by patterns of names, and by epochs: rates, decay, frozen ones, what that
// saves, and what is refused.
#include "dynet_like/core/errors.h"
#include "dynet_like/train/parameter_groups.h"
#include "dynet_like/train/trainers.h"
#include "nn/train/group_schedule.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/training_program.h"
#include "tests/train/trainer_kinds.h"

namespace dynet_like {
namespace {

using namespace trainer_kinds;

TEST(PatternTest, MatchesWholeNames) {
  for (const char* pattern : {"/lstm/b", "*", "*/b", "/*/b", "/lstm/?", "/ls*", "*lstm*", "**b"}) {
    EXPECT_TRUE(matches(pattern, "/lstm/b")) << pattern;
  }
  for (const char* pattern : {"", "/lstm", "lstm/b", "*/W", "/lstm/b?", "/?/b", "/lstm/b/*"}) {
    EXPECT_FALSE(matches(pattern, "/lstm/b")) << pattern;
  }
  EXPECT_TRUE(matches("*a*ab", "aaaaab"));
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("*a*a*a*a*a*a*b", std::string(2000, 'a')));  // and does not take for ever
}

struct Model {
  ParameterCollection all;
  ParameterCollection lstm = all.add_subcollection("lstm");
  Parameter w = lstm.add_parameters({1}, ParameterInitConst(4), "W");
  Parameter b = lstm.add_parameters({1}, ParameterInitConst(4), "b");
  LookupParameter words = all.add_lookup_parameters(3, {1}, ParameterInitConst(4), "words");

  Gradients gradients() const {
    Gradients gradients;
    add_to(gradients, w, {1.0});
    add_to(gradients, b, {1.0});
    add_to(gradients, words, 1, {1.0});
    return gradients;
  }
};

// Whatever their order: a rate for a layer does not bring back the decay of a bias.
TEST(ParameterGroupsTest, EachSettingIsThatOfItsLastMatch) {
  const ParameterGroup layer = {.pattern = "/lstm/*", .rate = 2},
                       biases = {.pattern = "*/b", .weight_decay = 0};
  for (const auto& groups : {std::vector{layer, biases}, std::vector{biases, layer}}) {
    Model model;
    SimpleSGDTrainer trainer(model.all, 1);
    trainer.weight_decay = 0.5f;
    trainer.set_groups(groups);
    trainer.update(model.gradients());
    EXPECT_EQ(as_scalar(model.w.values()), (4 - 2) * 0.5f);
    EXPECT_EQ(as_scalar(model.b.values()), 4 - 2.0f);
    EXPECT_EQ(as_vector(model.words.all_values()), (std::vector<float>{2, 1.5f, 2}));
  }
}

TEST(ParameterGroupsTest, ALaterMatchTakesBackWhatItGives) {
  Model model;
  SimpleSGDTrainer trainer(model.all, 1);
  trainer.weight_decay = 0.5f;
  trainer.set_groups({{.pattern = "*", .rate = 3, .weight_decay = 0, .frozen = true},
                      {.pattern = "/lstm/*", .rate = 2, .frozen = false},
                      {.pattern = "*/b", .rate = 1, .weight_decay = 0.25f},
                      {.pattern = "*/W"}});
  trainer.update(model.gradients());
  EXPECT_EQ(as_scalar(model.w.values()), 4 - 2.0f);
  EXPECT_EQ(as_scalar(model.b.values()), (4 - 1) * 0.75f);
  EXPECT_EQ(as_vector(model.words.all_values()), std::vector<float>(3, 4));
  EXPECT_EQ(trainer.state().kind,
            "SimpleSGDTrainer() with groups \"*\": rate 3, weight decay 0, frozen; \"/lstm/*\": "
            "rate 2, not frozen; \"*/b\": rate 1, weight decay 0.25; \"*/W\": nothing");
}

TEST(ParameterGroupsTest, FrozenParametersCountForNothing) {
  Model model;
  SimpleSGDTrainer trainer(model.all, 1);
  trainer.weight_decay = 0.5f;
  trainer.enable_clipping(1);
  trainer.cumulative_moving_average();
  trainer.set_groups({{.pattern = "*words", .frozen = true}, {.pattern = "*/b", .frozen = true}});
  Gradients gradients = model.gradients();
  add_to(gradients, model.b, {INFINITY});
  add_to(gradients, model.words, 2, {NAN});
  add_to(gradients, model.w, {3.0});
  trainer.update(gradients);
  EXPECT_EQ(trainer.clipped_updates(), 1u);
  EXPECT_EQ(as_scalar(model.w.values()), 1.5f);  // the gradient is clipped from 4 to 1
  EXPECT_EQ(as_scalar(model.b.values()), 4.0f);
  EXPECT_EQ(as_vector(model.words.all_values()), (std::vector<float>{4, 4, 4}));
  trainer.swap_params_to_moving_average();
  EXPECT_EQ(as_scalar(model.b.values()), 4.0f);
  trainer.swap_params_to_weights();
  // Thawed, they are trained.
  trainer.set_groups({});
  trainer.disable_clipping();
  EXPECT_THROW(update_now(trainer, gradients), NumericError);
  trainer.update(model.gradients());
  EXPECT_EQ(as_scalar(model.b.values()), 1.5f);
}

TEST(ParameterGroupsTest, LaterParametersBelongToThem) {
  Model model;
  SimpleSGDTrainer trainer(model.all, 1);
  trainer.set_groups({{.pattern = "/lstm/*", .rate = 2}, {.pattern = "*/?", .frozen = true}});
  trainer.update(model.gradients());
  const Parameter late = model.lstm.add_parameters({1}, ParameterInitConst(4)),
                  later = model.lstm.add_parameters({1}, ParameterInitConst(4), "c");
  Gradients gradients;
  add_to(gradients, late, {1.0});
  add_to(gradients, later, {1.0});
  trainer.update(gradients);
  EXPECT_EQ(as_scalar(late.values()), 2.0f);
  EXPECT_EQ(as_scalar(later.values()), 4.0f);
}

TEST(ParameterGroupsTest, WhatIsRefusedChangesNothing) {
  Model model;
  SimpleSGDTrainer trainer(model.all, 1);
  trainer.set_groups({{.pattern = "*/b", .frozen = true}});
  EXPECT_EQ(
      message_of<UsageError>([&] { trainer.set_groups({{.pattern = "*/c"}}); }),
      "[ParameterGroup] need a pattern that matches a parameter; got \"*/c\", the nearest are "
      "\"/words\", \"/lstm/W\", \"/lstm/b\"");
  EXPECT_THROW(trainer.set_groups({{.pattern = "*", .rate = -1}}), UsageError);
  EXPECT_THROW(trainer.set_groups({{.pattern = "*", .rate = INFINITY}}), UsageError);
  EXPECT_THROW(trainer.set_groups({{.pattern = "*", .weight_decay = 1}}), UsageError);
  ASSERT_EQ(trainer.groups().size(), 1u);
  trainer.update(model.gradients());
  EXPECT_EQ(as_scalar(model.b.values()), 4.0f);
  EXPECT_EQ(as_scalar(model.w.values()), 3.0f);
}

TEST(ParameterGroupsTest, StatesAreOfTheSameGroups) {
  Model model, other;
  SimpleSGDTrainer trainer(model.all, 1), later(other.all, 1);
  trainer.set_groups({{.pattern = "*/b", .rate = 0.5f, .weight_decay = 0}});
  trainer.update(model.gradients());
  EXPECT_EQ(message_of<UsageError>([&] { later.load_state(trainer.state()); }),
            "[Trainer] need the state of SimpleSGDTrainer(); got that of SimpleSGDTrainer() with "
            "groups \"*/b\": rate 0.5, weight decay 0");
  later.set_groups(trainer.groups());
  later.load_state(trainer.state());
  EXPECT_EQ(later.updates(), 1u);
}

class GroupsOfKindsTest : public ::testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(All, GroupsOfKindsTest, ::testing::ValuesIn(kinds()),
                         [](const auto& test) { return test.param.name; });

// A parameter in a group is as one of a trainer that has the group's numbers.
TEST_P(GroupsOfKindsTest, EqualTrainersOfTheirOwn) {
  for (const SparseUpdates mode : {SparseUpdates::lazy, SparseUpdates::exact}) {
    Twins twins(DType::f32), single(DType::f32);
    const auto trainer = GetParam().make(twins.model), slow = GetParam().make(single.model);
    const float rate = trainer->learning_rate;
    trainer->set_groups({{.pattern = "/_0", .rate = 0.25f, .weight_decay = 0.125f}});
    slow->weight_decay = 0.125f;
    trainer->sparse_updates = slow->sparse_updates = mode;
    Random random(3);
    for (int step = 0; step < 50; ++step) {
      trainer->learning_rate = rate;
      slow->learning_rate = rate * 0.25f;
      Gradients gradients;
      const unsigned row = random.below(Twins::kRows - 1);
      const Doubles values = random_values(random, Twins::kSize);
      twins.add(gradients, row, values);
      single.add(gradients, row, values);
      trainer->update(gradients);
      slow->update(gradients);
    }
    EXPECT_EQ(all_bytes(twins.table), all_bytes(single.table));
  }
}

TEST(GradientsTest, ScalesParametersAndRows) {
  Model model;
  Gradients gradients = model.gradients();
  gradients.scale(0.25);
  EXPECT_EQ(gradients.values(model.w), std::vector<float>{0.25f});
  EXPECT_EQ(gradients.values(model.words, 1), std::vector<float>{0.25f});
  EXPECT_EQ(gradients.values(model.words, 0), std::vector<float>{0});
  EXPECT_THROW(gradients.scale(NAN), UsageError);
  gradients.clear();
  gradients.scale(2);
  EXPECT_EQ(gradients.values(model.w), std::vector<float>{0});
}

}  // namespace

namespace nn {
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

}  // namespace
}  // namespace nn
}  // namespace dynet_like
