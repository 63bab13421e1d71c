// Trainers: formulas, lazy and exact tables, clipping, what is refused, states.
#include <cstring>
#include <thread>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/random.h"
#include "dynet_like/train/trainers.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/train/trainer_kinds.h"

namespace dynet_like {
namespace {

using namespace trainer_kinds;

class TrainerTest : public ::testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<Trainer> make(const ParameterCollection& model) { return GetParam().make(model); }
};

INSTANTIATE_TEST_SUITE_P(All, TrainerTest, ::testing::ValuesIn(kinds()),
                         [](const auto& test) { return test.param.name; });

TEST(TrainerFormulaTest, AMinibatchByTheSumOfItsLosses) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({1}, ParameterInitConst(1.0f));
  SimpleSGDTrainer trainer(model, 0.25f);
  Minibatch batch;
  for (const float x : {2.0f, 1.0f}) batch.add_loss(x * parameter(batch.new_graph(), w));
  EXPECT_EQ(trainer.update(batch), 3.0f);
  EXPECT_EQ(as_scalar(w.values()), 0.25f);
}

TEST_P(TrainerTest, FollowsTheFormula) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const unsigned size : {1u, 2u, 3u, 5u, 17u, 255u, 257u, 1000u}) {
      ParameterCollection model(size, dtype);
      const Parameter w = model.add_parameters({size}, ParameterInitNormal());
      const auto trainer = make(model);
      Doubles expected = as_doubles(w.values());
      std::vector<Moments> moments(size, {0, 0, 0});
      Random random(size);
      for (int t = 1; t <= 12; ++t) {
        trainer->learning_rate = 0.01f * static_cast<float>(t % 5 + 1);
        const double rate = static_cast<double>(trainer->learning_rate);
        const Doubles gradient = random_values(random, size);
        Gradients gradients;
        add_to(gradients, w, gradient);
        trainer->update(gradients);
        GetParam().reference(expected, moments, gradient, rate, t);
      }
      const double bound = dtype == DType::f32 ? 3e-6 : 1e-13;
      for (unsigned i = 0; i < size; ++i) {
        ASSERT_NEAR(w.values().at(i), expected[i], bound) << i << " of " << size;
      }
    }
  }
}

TEST(TrainerFormulaTest, ConstantsAreChecked) {
  ParameterCollection model;
  EXPECT_THROW(MomentumSGDTrainer(model, 0.1f, 1.0f), UsageError);
  EXPECT_THROW(MomentumSGDTrainer(model, 0.1f, -0.1f), UsageError);
  EXPECT_THROW(AdamTrainer(model, 0.1f, 1.0f), UsageError);
  EXPECT_THROW(AdamTrainer(model, 0.1f, 0.9f, std::nanf("")), UsageError);
  EXPECT_EQ(
      message_of<UsageError>([&] { AdamTrainer(model, 0.1f, 0.5f, 0.25f, 0.0f); }),
      "[AdamTrainer] need 0 <= beta_1, beta_2 < 1 and a finite epsilon > 0; got 0.5, 0.25, 0");
}

TEST_P(TrainerTest, ADestroyedTrainerLeavesNothingBehind) {
  Twins twins(DType::f32);
  {
    const auto trainer = make(twins.model), reference = make(twins.dense_model);
    trainer->sparse_updates = reference->sparse_updates = SparseUpdates::exact;
    Gradients gradients, none;
    twins.add(gradients, 2, {1, 2, 3, 4, 5});
    trainer->update(gradients);
    reference->update(gradients);
    trainer->update(none);
    reference->update(none);
  }
  EXPECT_EQ(twins.table.get_storage().refresher, nullptr);
  EXPECT_TRUE(twins.same());
}

TEST_P(TrainerTest, TrainersMayTakeTurns) {
  Twins twins(DType::f32);
  std::vector<std::unique_ptr<Trainer>> trainers, references;
  for (int i = 0; i < 3; ++i) {
    trainers.push_back(make(twins.model));
    references.push_back(make(twins.dense_model));
    trainers.back()->sparse_updates = references.back()->sparse_updates = SparseUpdates::exact;
  }
  Random random(11);
  for (int step = 0; step < 60; ++step) {
    Gradients gradients;
    twins.add(gradients, random.below(Twins::kRows), random_values(random, Twins::kSize));
    const std::size_t turn = random.below(static_cast<std::uint32_t>(trainers.size()));
    trainers[turn]->update(gradients);
    references[turn]->update(gradients);
    if (step == 40) trainers.pop_back(), references.pop_back();
  }
  EXPECT_TRUE(twins.same());
}

TEST_P(TrainerTest, ThreadsMayRefreshTheSameRows) {
  constexpr unsigned kRows = 40;
  ParameterCollection model;
  const LookupParameter table = model.add_lookup_parameters(kRows, {16});
  const auto trainer = make(model);
  trainer->sparse_updates = SparseUpdates::exact;
  Gradients gradients, none;
  Random random(1);
  for (unsigned row = 0; row < kRows; ++row) {
    add_to(gradients, table, row, random_values(random, 16));
  }
  for (int round = 0; round < 5; ++round) {
    trainer->update(gradients);
    for (int i = 0; i < 20; ++i) trainer->update(none);
    const ParameterStorage& storage = table.get_storage();
    std::vector<Doubles> sums(4, Doubles(kRows));
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < sums.size(); ++t) {
      threads.emplace_back([&, t] {
        for (std::uint32_t i = 0; i < kRows; ++i) {
          const std::uint32_t row = (i * 7 + static_cast<std::uint32_t>(t) * 3) % kRows;
          const std::uint32_t rows[] = {row, (row + 1) % kRows, row};
          if (storage.refresher != nullptr) storage.refresher->refresh(rows);
          for (unsigned j = 0; j < 16; ++j) sums[t][row] += storage.tensor().at(row * 16 + j);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Doubles& sum : sums) EXPECT_EQ(sum, sums[0]);
  }
}

TEST(TrainerClippingTest, TheNormMustBeANumber) {
  ParameterCollection model(1, DType::f64);
  const Parameter w = model.add_parameters({1}, ParameterInitConst(0));
  SimpleSGDTrainer trainer(model, 1.0f);
  Gradients gradients;
  add_to(gradients, w, {1e200});
  trainer.enable_clipping();
  EXPECT_THROW(update_now(trainer, gradients), NumericError);
  EXPECT_EQ(w.values().at(0), 0.0);
}

TEST_P(TrainerTest, GradientsThatAreNotFiniteChangeNothing) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    ParameterCollection model(1, dtype);
    const Parameter first = model.add_parameters({3}, "first");
    const Parameter bad = model.add_parameters({3}, "bad");
    const LookupParameter table = model.add_lookup_parameters(4, {2}, "table");
    const auto trainer = make(model);
    Gradients gradients;
    add_to(gradients, first, {1, 2, 3});
    add_to(gradients, bad, {1, std::numeric_limits<double>::infinity(), 3});
    add_to(gradients, table, 2, {1, 2});
    add_to(gradients, table, 1, {1, -std::nan("")});
    const Bytes before = bytes_of(first.get_storage());
    const std::uint64_t version = first.get_storage().values.version();
    EXPECT_EQ(message_of<NumericError>([&] { update_now(*trainer, gradients); }),
              "[Trainer] need finite gradients; got inf for \"/bad\", element 1");
    bad.set_updated(false);
    const std::string message = message_of<NumericError>([&] { update_now(*trainer, gradients); });
    EXPECT_TRUE(mentions(message, "nan for \"/table\", element 1 of row 1"));
    EXPECT_TRUE(bytes_of(first.get_storage()) == before);
    // Another device may have changed them, as far as this process knew.
    if (default_device()->is_cpu()) {
      EXPECT_EQ(first.get_storage().values.version(), version);
    }
    EXPECT_EQ(trainer->updates(), 0u);
    table.set_updated(false);
    trainer->learning_rate = std::numeric_limits<float>::infinity();
    EXPECT_THROW(trainer->update(gradients), UsageError);
    EXPECT_TRUE(bytes_of(first.get_storage()) == before);
    trainer->learning_rate = 0.1f;
    trainer->update(gradients);
    EXPECT_EQ(trainer->updates(), 1u);
    EXPECT_TRUE(bytes_of(first.get_storage()) != before);
  }
}

TEST_P(TrainerTest, ParametersThatAreNotUpdatedStay) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({3}), fixed = model.add_parameters({3});
  const LookupParameter table = model.add_lookup_parameters(4, {2});
  fixed.set_updated(false);
  table.set_updated(false);
  const auto trainer = make(model);
  const Bytes fixed_before = bytes_of(fixed.get_storage());
  const Bytes table_before = bytes_of(table.get_storage());
  const std::uint64_t fixed_version = fixed.get_storage().values.version();
  const std::uint64_t table_version = table.get_storage().values.version();
  const std::uint64_t version = w.get_storage().values.version();
  for (const SparseUpdates mode : {SparseUpdates::lazy, SparseUpdates::exact}) {
    trainer->sparse_updates = mode;
    Gradients gradients;
    for (const Parameter& parameter : {w, fixed}) add_to(gradients, parameter, {1, 2, 3});
    add_to(gradients, table, 1, {1, 2});
    trainer->update(gradients);
  }
  EXPECT_TRUE(bytes_of(fixed.get_storage()) == fixed_before);
  EXPECT_TRUE(bytes_of(table.get_storage()) == table_before);
  EXPECT_EQ(fixed.get_storage().values.version(), fixed_version);
  EXPECT_EQ(table.get_storage().values.version(), table_version);
  EXPECT_EQ(w.get_storage().values.version(), version + 2);
}

TEST_P(TrainerTest, UpdatesItsCollectionAndWhatIsAddedLater) {
  ParameterCollection model;
  const Parameter outside = model.add_parameters({2});
  ParameterCollection part = model.add_subcollection("part");
  const auto trainer = make(part);
  trainer->update({});
  const Parameter inside = part.add_parameters({2}, ParameterInitConst(0.5f));
  const Bytes before = bytes_of(inside.get_storage()),
              outside_before = bytes_of(outside.get_storage());
  Gradients gradients;
  add_to(gradients, inside, {1, 2});
  add_to(gradients, outside, {1, 2});
  trainer->update(gradients);
  EXPECT_TRUE(bytes_of(inside.get_storage()) != before);
  EXPECT_TRUE(bytes_of(outside.get_storage()) == outside_before);
  EXPECT_EQ(trainer->updates(), 2u);
}

TEST_P(TrainerTest, RestartForgetsTheMoments) {
  Twins used(DType::f32), fresh(DType::f32);
  const auto trainer = make(used.model);
  trainer->sparse_updates = SparseUpdates::exact;
  Gradients gradients, none;
  used.add(gradients, 1, {1, 2, 3, 4, 5});
  trainer->update(gradients);
  trainer->update(none);
  trainer->restart(0.25f);
  EXPECT_EQ(trainer->updates(), 0u);
  const Tensor from = used.table.all_values(), to = fresh.table.all_values();
  std::memcpy(to.v, from.v, from.d.size() * sizeof(float));
  const auto other = make(fresh.model);
  other->sparse_updates = SparseUpdates::exact;
  other->learning_rate = 0.25f;
  Gradients same;
  fresh.add(same, 1, {1, 2, 3, 4, 5});
  trainer->update(gradients);
  other->update(same);
  trainer->update(none);
  other->update(none);
  EXPECT_TRUE(all_bytes(used.table) == all_bytes(fresh.table));
}

TEST(TrainerStateTest, IsLoadedByTheSameKindOnly) {
  ParameterCollection model, other_model;
  const Parameter w = model.add_parameters({3}, "w");
  other_model.add_parameters({3}, "w");
  Gradients gradients;
  add_to(gradients, w, {1, 2, 3});
  AdamTrainer trainer(model);
  trainer.update(gradients);
  trainer.load_state(trainer.state());  // from its own memory
  TrainerState state = trainer.state();
  EXPECT_EQ(state.kind, "AdamTrainer(beta_1=0.9, beta_2=0.999, epsilon=1e-08)");
  ASSERT_EQ(state.moments.size(), 2u);
  EXPECT_EQ(state.moments[0].name, "mean");
  EXPECT_FLOAT_EQ(state.moments[0].values.v[1], 0.2f);
  AdamTrainer similar(model, 0.001f, 0.8f), foreign(other_model), same(model);
  EXPECT_EQ(message_of<UsageError>([&] { similar.load_state(state); }),
            "[Trainer] need the state of AdamTrainer(beta_1=0.8, beta_2=0.999, epsilon=1e-08); "
            "got that of AdamTrainer(beta_1=0.9, beta_2=0.999, epsilon=1e-08)");
  EXPECT_THROW(foreign.load_state(state), UsageError);
  const auto refused = [&](const TrainerState& bad) {
    const std::string message = message_of<UsageError>([&] { same.load_state(bad); });
    EXPECT_EQ(same.updates(), 0u);
    EXPECT_TRUE(same.state().moments.empty());
    return message;
  };
  TrainerState bad = state;
  bad.moments.pop_back();
  EXPECT_EQ(refused(bad), "[Trainer] need all moments of \"/w\"; got none named \"square\"");
  bad = state;
  bad.moments[1].name = "mean";
  EXPECT_TRUE(mentions(refused(bad), "once each; got \"mean\" of \"/w\""));
  bad = state;
  bad.moments[1].values.d = Dim({2});
  EXPECT_EQ(refused(bad), "[Trainer] need float {3} for \"square\" of \"/w\"; got float {2}");
  same.load_state(state);
  EXPECT_EQ(same.updates(), 1u);
  EXPECT_EQ(same.state().moments.size(), 2u);
}

}  // namespace
}  // namespace dynet_like
