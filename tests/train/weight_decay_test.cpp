// Weight decay: what it multiplies, and rows that lag behind.
#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/train/trainers.h"
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

TEST(AdamWTest, TablesEqualDenseParameters) {
  Twins twins(DType::f32);
  AdamWTrainer trainer(twins.model, 0.05f, 0.1f), reference(twins.dense_model, 0.05f, 0.1f);
  Random random(3);
  for (int step = 0; step < 100; ++step) {
    trainer.learning_rate = reference.learning_rate = 0.05f / static_cast<float>(1 + step % 7);
    trainer.sparse_updates = reference.sparse_updates =
        step % 40 < 20 ? SparseUpdates::lazy : SparseUpdates::exact;
    Gradients gradients;
    twins.add(gradients, random.below(Twins::kRows - 1), random_values(random, Twins::kSize));
    trainer.update(gradients);
    twins.update_dense(reference, gradients, [](const ParameterCollection& model) {
      return std::make_unique<AdamWTrainer>(model);
    });
  }
  EXPECT_TRUE(twins.same());
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

class WeightDecayKindsTest : public testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(All, WeightDecayKindsTest, testing::ValuesIn(kinds()),
                         [](const auto& test) { return test.param.name; });

// Rows without a gradient are, in either mode and at any time, as parameters that only decay or
// have a gradient of zero.
TEST_P(WeightDecayKindsTest, TablesEqualDenseParameters) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Twins twins(dtype);
    const auto trainer = GetParam().make(twins.model);
    const auto reference = GetParam().make(twins.dense_model);
    Random random(3);
    for (int step = 0; step < 300; ++step) {
      trainer->weight_decay = reference->weight_decay = step % 50 < 30 ? 0.001f : 0;
      trainer->sparse_updates = reference->sparse_updates =
          step % 80 < 40 ? SparseUpdates::lazy : SparseUpdates::exact;
      Gradients gradients;
      for (unsigned i = random.below(3); i > 0; --i) {
        twins.add(gradients, random.below(Twins::kRows - 1), random_values(random, Twins::kSize));
      }
      trainer->update(gradients);
      twins.update_dense(*reference, gradients, GetParam().make);
      const unsigned row = random.below(Twins::kRows);
      for (unsigned i = 0; i < Twins::kSize && step % 3 == 0; ++i) {
        ASSERT_EQ(twins.table.values(row).at(i), twins.dense[row].values().at(i)) << step;
      }
    }
    EXPECT_TRUE(twins.same());
  }
}

TEST_P(WeightDecayKindsTest, RowsMayLieForLong) {
  Twins twins(DType::f32);
  const auto trainer = GetParam().make(twins.model);
  const auto reference = GetParam().make(twins.dense_model);
  trainer->weight_decay = reference->weight_decay = 1e-4f;
  Random random(5);
  for (int step = 0; step < 9000; ++step) {
    Gradients gradients;
    if (step % 4500 == 0) twins.add(gradients, 1, random_values(random, Twins::kSize));
    trainer->update(gradients);
    twins.update_dense(*reference, gradients, GetParam().make);
  }
  EXPECT_TRUE(twins.same());
}

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
