// Trainers: formulas, constants and rates, lazy and exact tables, clipping, weight decay, gradients
// of other models, what is refused, states.
#include <cstring>
#include <thread>
#include <utility>

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

TEST(TrainerDefaultsTest, AreThoseOfDyNet) {
  ParameterCollection model;
  SimpleSGDTrainer cyclical(model);
  cyclical.follow(CyclicalRate());
  const auto expect = [](auto&& trainer, float rate, const char* kind) {
    EXPECT_EQ(trainer.learning_rate, rate) << kind;
    EXPECT_EQ(trainer.state().kind, kind);
  };
  expect(cyclical, 0.01f,
         "SimpleSGDTrainer() with CyclicalRate(rate_min=0.01, rate_max=0.1, step_size=2000, "
         "gamma=1)");
  expect(SimpleSGDTrainer(model), 0.1f, "SimpleSGDTrainer()");
  expect(MomentumSGDTrainer(model), 0.01f, "MomentumSGDTrainer(momentum=0.9)");
  expect(AdagradTrainer(model), 0.1f, "AdagradTrainer(epsilon=1e-20)");
  expect(AdadeltaTrainer(model), 1, "AdadeltaTrainer(rho=0.95, epsilon=1e-06)");
  expect(RMSPropTrainer(model), 0.1f, "RMSPropTrainer(rho=0.95, epsilon=1e-20)");
  expect(AdamTrainer(model), 0.001f, "AdamTrainer(beta_1=0.9, beta_2=0.999, epsilon=1e-08)");
  expect(AmsgradTrainer(model), 0.001f, "AmsgradTrainer(beta_1=0.9, beta_2=0.999, epsilon=1e-08)");
}

// What a trainer of w refuses to be made with, to be told, and to update with.
TEST(TrainerDefaultsTest, NumbersAreChecked) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  ParameterCollection model;
  const Parameter w = model.add_parameters({1}, ParameterInitConst(4));
  SimpleSGDTrainer trainer(model, 0.1f);
  const auto refuses = [](const std::string& message, const std::function<void()>& call) {
    expect_refused<UsageError>(message, call);
  };
  const auto follow = [&](const CyclicalRate& rate) { return [&, rate] { trainer.follow(rate); }; };
  refuses("[Trainer] need a finite learning rate from 0; got -1", [&] { AdamTrainer(model, -1); });
  refuses("[AdagradTrainer] need a finite epsilon > 0; got 0",
          [&] { AdagradTrainer(model, 0.1f, 0.0f); });
  refuses("[AdadeltaTrainer] need 0 <= rho < 1 and a finite epsilon > 0; got 1, 1e-06",
          [&] { AdadeltaTrainer(model, 1e-6f, 1.0f); });
  refuses("[RMSPropTrainer] need 0 <= rho < 1 and a finite epsilon > 0; got -0.5, 0.5",
          [&] { RMSPropTrainer(model, 0.1f, 0.5f, -0.5f); });
  refuses("[AmsgradTrainer] need 0 <= beta_1, beta_2 < 1 and a finite epsilon > 0; got 0.5, 1, 1",
          [&] { AmsgradTrainer(model, 0.1f, 0.5f, 1.0f, 1.0f); });
  refuses("[AdamTrainer] need 0 <= beta_1, beta_2 < 1 and a finite epsilon > 0; got 0.5, 0.25, 0",
          [&] { AdamTrainer(model, 0.1f, 0.5f, 0.25f, 0.0f); });
  for (const float wrong : {1.0f, nan}) {
    refuses("[...", [&] { AdamTrainer(model, 0.1f, wrong); });
    refuses("[...", [&] { AdamTrainer(model, 0.1f, 0.9f, wrong); });
  }
  for (const float wrong : {1.0f, -0.1f}) {
    refuses("[...", [&] { MomentumSGDTrainer(model, 0.1f, wrong); });
  }
  refuses(
      "[CyclicalRate] need finite rates with 0 <= rate_min <= rate_max, step_size > 0 and "
      "0 <= gamma <= 1; got 0.5, 0.25, 10, 1",
      follow({0.5f, 0.25f, 10, 1}));
  for (const CyclicalRate& wrong : {CyclicalRate{0.1f, infinity},
                                    {nan, 0.1f},
                                    {-0.1f, 0.1f},
                                    {0.1f, 0.2f, 0.0f},
                                    {0.1f, 0.2f, 10, 1.5f},
                                    {0.1f, 0.2f, 10, -0.5f}}) {
    refuses("[CyclicalRate] ...", follow(wrong));
  }
  EXPECT_EQ(trainer.learning_rate, 0.1f);
  for (const float wrong : {-0.5f, nan, infinity}) {
    refuses("[...", [&] { SimpleSGDTrainer(model, wrong); });
    refuses("[...", [&] { MomentumSGDTrainer(model, wrong); });
    refuses("[...", [&] { AdagradTrainer(model, wrong); });
    refuses("[...", [&] { RMSPropTrainer(model, wrong); });
    refuses("[...", [&] { AdamWTrainer(model, wrong); });
    refuses("[...", [&] { AmsgradTrainer(model, wrong); });
    refuses("[...", [&] { AdadeltaTrainer(model, wrong); });  // its epsilon
    refuses("[...", [&] { AdamTrainer(model, 0.1f, 0.9f, 0.999f, wrong); });
    refuses("[...", [&] { trainer.restart(wrong); });
  }
  // A number that has been set, and makes no sense in an update.
  const auto refuses_to_update = [&](Trainer& any, float Trainer::*number,
                                     const std::vector<float>& wrong) {
    for (const float each : wrong) {
      const float before = std::exchange(any.*number, each);
      refuses("[...", [&] { any.update({}); });
      any.*number = before;
    }
  };
  refuses_to_update(trainer, &Trainer::learning_rate, {-0.5f, nan, infinity});
  refuses_to_update(trainer, &Trainer::clip_threshold, {-1, nan});
  refuses_to_update(trainer, &Trainer::weight_decay, {-0.1f, 1, nan});
  AdamWTrainer decays(model, 1, 0.25f);
  refuses_to_update(decays, &Trainer::learning_rate, {4, -1});  // at 4, nothing would be left
  EXPECT_EQ(as_scalar(w.values()), 4.0f);
  EXPECT_EQ(trainer.updates(), 0u);
}

TEST(CyclicalRateTest, RisesAndFalls) {
  ParameterCollection model(1, DType::f64);
  const Parameter w = model.add_parameters({1}, ParameterInitConst(0));
  SimpleSGDTrainer trainer(model);
  trainer.follow({0.5f, 1.5f, 2});
  Gradients gradients;
  add_to(gradients, w, {1.0});
  double last = 0;
  for (const double rate : {0.5, 1.0, 1.5, 1.0, 0.5, 1.0, 1.5, 1.0}) {
    EXPECT_EQ(static_cast<double>(trainer.learning_rate), rate);
    trainer.update(gradients);
    EXPECT_EQ(last - w.values().at(0), rate);
    last = w.values().at(0);
  }
  trainer.update({});
  trainer.restart();
  EXPECT_EQ(trainer.learning_rate, 0.5f);
  trainer.update({});
  EXPECT_EQ(trainer.learning_rate, 1.0f);
  trainer.restart(0.25f);  // for one update
  trainer.update(gradients);
  EXPECT_EQ(last - w.values().at(0), 0.25);
  EXPECT_EQ(trainer.learning_rate, 1.0f);
}

TEST(CyclicalRateTest, TheHeightDecays) {
  const CyclicalRate rate{1, 2, 2, 0.5f};
  const std::vector<float> expected = {1, 1.25f, 1.25f, 1.0625f, 1, 1.015625f};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(rate.after(i), expected[i]) << i;
}

TEST(CyclicalRateTest, MayBeginLater) {
  const CyclicalRate rate{1, 2, 2, 0.5f}, later{1, 2, 2, 0.5f, 3};
  for (std::uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(later.after(i), i < 3 ? 1 : rate.after(i - 3)) << i;
  }
  EXPECT_EQ(later.description(),
            "CyclicalRate(rate_min=1, rate_max=2, step_size=2, gamma=0.5, first=3)");
  ParameterCollection model;
  SimpleSGDTrainer trainer(model);
  trainer.follow(later);
  EXPECT_EQ(trainer.learning_rate, 1);
  for (int i = 0; i < 4; ++i) trainer.update({});
  EXPECT_EQ(trainer.learning_rate, rate.after(1));
  EXPECT_THROW(trainer.follow({2, 1}), UsageError);
}

TEST(CyclicalRateTest, IsPartOfTheState) {
  ParameterCollection model;
  model.add_parameters({1});
  SimpleSGDTrainer first(model), second(model), other(model), plain(model);
  for (SimpleSGDTrainer* trainer : {&first, &second}) trainer->follow({0.5f, 1.5f, 4});
  for (int i = 0; i < 3; ++i) first.update({});
  second.load_state(first.state());
  EXPECT_EQ(second.learning_rate, 1.25f);
  second.update({});
  EXPECT_EQ(second.learning_rate, 1.5f);
  other.follow({0.5f, 1.5f, 5});
  EXPECT_THROW(other.load_state(first.state()), UsageError);
  EXPECT_THROW(plain.load_state(first.state()), UsageError);
}

// With the moments alone gone, an update is the first of its moments and the third in number.
TEST(ForgettingTest, MomentsAloneGo) {
  ParameterCollection model(1, DType::f64);
  const Parameter w = model.add_parameters({1}, ParameterInitConst(0));
  AdamTrainer trainer(model, 0.1f);
  trainer.cumulative_moving_average();
  Gradients gradients;
  add_to(gradients, w, {2.0});
  double sum = 0;
  for (int i = 0; i < 2; ++i) {
    trainer.update(gradients);
    sum += w.values().at(0);
  }
  trainer.forget_moments();
  EXPECT_EQ(trainer.updates(), 2u);
  const double before = w.values().at(0);
  trainer.update(gradients);
  sum += w.values().at(0);
  const double b1 = static_cast<double>(0.9f), b2 = static_cast<double>(0.999f);
  const double rate = static_cast<double>(0.1f) * std::sqrt(1 - b2 * b2 * b2) / (1 - b1 * b1 * b1);
  EXPECT_NEAR(before - w.values().at(0), rate * (1 - b1) * 2 / std::sqrt((1 - b2) * 4), 1e-7);
  trainer.swap_params_to_moving_average(false);
  EXPECT_NEAR(w.values().at(0), sum / 3, 1e-12);
  EXPECT_THROW(trainer.update(gradients), UsageError);
  trainer.forget_moments();  // the average is the value from now on
  EXPECT_NEAR(w.values().at(0), sum / 3, 1e-12);
  trainer.update(gradients);
  EXPECT_EQ(trainer.updates(), 4u);
}

TEST(TrainerClippingTest, ClippedUpdatesAreCounted) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({1}, ParameterInitConst(0));
  SimpleSGDTrainer trainer(model), other(model);
  Gradients small, large;
  add_to(small, w, {1.0});
  add_to(large, w, {8.0});
  trainer.update(large);  // not clipped yet
  trainer.enable_clipping(4);
  for (int i = 0; i < 3; ++i) trainer.update(large), trainer.update(small);
  EXPECT_EQ(trainer.updates(), 7u);
  EXPECT_EQ(trainer.clipped_updates(), 3u);
  other.load_state(trainer.state());
  EXPECT_EQ(other.clipped_updates(), 3u);
  trainer.restart();
  EXPECT_EQ(trainer.clipped_updates(), 0u);
  trainer.disable_clipping();
  trainer.update(large);
  EXPECT_EQ(trainer.clipped_updates(), 0u);
  EXPECT_THROW(trainer.enable_clipping(0), UsageError);
  EXPECT_THROW(trainer.enable_clipping(std::nanf("")), UsageError);
}

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

TEST_P(TrainerTest, WeightDecayIsPartOfTheState) {
  Twins twins(DType::f32), others(DType::f32);
  const auto trainer = make(twins.model), other = make(others.model);
  trainer->weight_decay = 0.125f;
  trainer->update({});
  TrainerState state = trainer->state();
  EXPECT_EQ(state.weight_decay, 0.125f);
  state.moments.clear();  // they are of the other model
  other->load_state(state);
  EXPECT_EQ(other->weight_decay, 0.125f);
}

struct OtherGradientsTest : ::testing::Test {
  ParameterCollection model, other;
  Parameter w = model.add_parameters({1}, ParameterInitConst(1), "w");
  LookupParameter table = model.add_lookup_parameters(2, {1}, "table");
  Gradients gradients;

  OtherGradientsTest() {
    for (int i = 0; i < 6; ++i) other.add_parameters({1}, "v");
  }
};

TEST_F(OtherGradientsTest, AreRefusedWithTheNamesOfBoth) {
  add_to(gradients, w, {1});
  gradients.rows(table.get_storage()).entry(table.get_storage(), 1);
  SimpleSGDTrainer trainer(other);
  EXPECT_EQ(message_of<UsageError>([&] { trainer.update(gradients); }),
            "[Trainer] need gradients of the collection that it was made for, which has \"/v\", "
            "\"/v_1\", \"/v_2\", \"/v_3\", \"/v_4\" and 1 more; got those of \"/w\", \"/table\" "
            "elsewhere: make the trainer for the collection that the model is in");
  EXPECT_EQ(trainer.updates(), 0u);
}

TEST_F(OtherGradientsTest, AreRefusedByATrainerWithoutParameters) {
  add_to(gradients, w, {1});
  SimpleSGDTrainer trainer(model.add_subcollection("encoder"));
  EXPECT_EQ(message_of<UsageError>([&] { trainer.update(gradients); }),
            "[Trainer] need gradients of the collection that it was made for, which has no "
            "parameters; got those of \"/w\" elsewhere: make the trainer for the collection that "
            "the model is in");
}

// Its parameters had no part in this minibatch, their gradients are zero: moments go on.
TEST_F(OtherGradientsTest, OfTheSameModelOrNoneAreZero) {
  const ParameterCollection head = model.add_subcollection("head");
  ParameterCollection(head).add_parameters({1}, "v");
  SimpleSGDTrainer trainer(head), of_other(other);
  add_to(gradients, w, {1});
  EXPECT_NO_THROW(trainer.update(gradients));
  gradients.clear();
  EXPECT_NO_THROW(of_other.update(gradients));
  EXPECT_NO_THROW(of_other.update(Gradients()));
  EXPECT_EQ(of_other.updates(), 2u);
}

// Beside those of another model.
TEST_F(OtherGradientsTest, OfSeveralModels) {
  ParameterCollection third;
  add_to(gradients, third.add_parameters({1}), {1});
  add_to(gradients, w, {1});
  SimpleSGDTrainer trainer(model, 0.5f);
  trainer.update(gradients);
  EXPECT_EQ(as_scalar(w.values()), 0.5f);
}

}  // namespace
}  // namespace dynet_like
