// Weight decay: what it multiplies, and rows that lag behind.
#include "dynet_like/core/errors.h"
#include "dynet_like/train/trainers.h"
#include "tests/support/precompiled.h"
#include "tests/train/trainer_kinds.h"

namespace dynet_like {
namespace {

using namespace trainer_kinds;

TEST(WeightDecayTest, MultipliesAllThatIsUpdated) {
  for (const SparseUpdates mode : {SparseUpdates::lazy, SparseUpdates::exact}) {
    ParameterCollection model;
    const Parameter w = model.add_parameters({1}, ParameterInitConst(4));
    const Parameter unused = model.add_parameters({1}, ParameterInitConst(4));
    const Parameter fixed = model.add_parameters({1}, ParameterInitConst(4));
    const LookupParameter table = model.add_lookup_parameters(2, {1}, ParameterInitConst(4));
    fixed.set_updated(false);
    SimpleSGDTrainer trainer(model, 1);
    trainer.sparse_updates = mode;
    trainer.weight_decay = 0.25f;
    Gradients gradients;
    add_to(gradients, w, {2.0});
    add_to(gradients, table, 1, {2.0});
    const std::uint64_t version = unused.get_storage().values.version();
    trainer.update(gradients);
    EXPECT_EQ(unused.get_storage().values.version(), version + 1);
    EXPECT_EQ(as_scalar(w.values()), 1.5f);
    EXPECT_EQ(as_scalar(unused.values()), 3.0f);
    EXPECT_EQ(as_scalar(fixed.values()), 4.0f);
    EXPECT_EQ(as_vector(table.all_values()), (std::vector<float>{3, 1.5f}));
    trainer.update({});
    EXPECT_EQ(as_vector(table.all_values()), (std::vector<float>{2.25f, 1.125f}));
  }
}

TEST(WeightDecayTest, OutOfRangeChangesNothing) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({1}, ParameterInitConst(4));
  SimpleSGDTrainer trainer(model, 1);
  for (const float bad : {-0.1f, 1.0f, std::nanf("")}) {
    trainer.weight_decay = bad;
    EXPECT_THROW(trainer.update({}), UsageError) << bad;
  }
  EXPECT_EQ(as_scalar(w.values()), 4.0f);
  EXPECT_EQ(trainer.updates(), 0u);
}

// Loshchilov and Hutter (2019), algorithm 2: the decay is of the values before the update.
TEST(AdamWTest, ByHand) {
  ParameterCollection model(1, DType::f64);
  const Parameter w = model.add_parameters({2}, ParameterInitConst(2.0f));
  EXPECT_EQ(AdamWTrainer(model).weight_decay, 0.01f);
  AdamWTrainer trainer(model, 0.5f, 0.25f, 0.5f, 0.75f, 0.125f);
  Gradients gradients;
  add_to(gradients, w, {3.0, 0.0});
  trainer.update(gradients);
  // m = 1.5, v = 2.25, rate 0.5 * sqrt(0.25) / 0.5 = 0.5; the decay is 0.5 * 0.25.
  EXPECT_NEAR(w.values().at(0), 2 * (1 - 0.125) - 0.5 * 1.5 / (1.5 + 0.125), 1e-15);
  EXPECT_EQ(w.values().at(1), 1.75);
}

TEST(AdamWTest, TheDecayMustLeaveSomething) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({1}, ParameterInitConst(4));
  AdamWTrainer trainer(model, 4, 0.25f);
  EXPECT_THROW(trainer.update({}), UsageError);
  trainer.learning_rate = -1;
  EXPECT_THROW(trainer.update({}), UsageError);
  EXPECT_EQ(as_scalar(w.values()), 4.0f);
}

class WeightDecayKindsTest : public ::testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(All, WeightDecayKindsTest, ::testing::ValuesIn(kinds()),
                         [](const auto& test) { return test.param.name; });

TEST_P(WeightDecayKindsTest, IsPartOfTheState) {
  Twins twins(DType::f32), others(DType::f32);
  const auto trainer = GetParam().make(twins.model), other = GetParam().make(others.model);
  trainer->weight_decay = 0.125f;
  trainer->update({});
  TrainerState state = trainer->state();
  EXPECT_EQ(state.weight_decay, 0.125f);
  state.moments.clear();  // they are of the other model
  other->load_state(state);
  EXPECT_EQ(other->weight_decay, 0.125f);
}

}  // namespace
}  // namespace dynet_like
