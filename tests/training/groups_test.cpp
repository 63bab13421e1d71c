// Groups of parameters by patterns of names: rates, decay, frozen ones, and what is refused.
#include "dynet_like/core/errors.h"
#include "dynet_like/train/parameter_groups.h"
#include "dynet_like/train/trainers.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
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
}  // namespace dynet_like
