// Trainers by themselves: rates that cycle, exponentiated gradients, constants, counted clips, what
// is left alone and forgotten.
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/train/trainers.h"
#include "tests/support/message_of.h"
#include "tests/trainer_kinds.h"

namespace dynet_like {
namespace {

using namespace trainer_kinds;

TEST(TrainerDefaultsTest, AreThoseOfDyNet) {
  ParameterCollection model;
  EXPECT_EQ(CyclicalSGDTrainer(model).learning_rate, 0.01f);
  EXPECT_EQ(CyclicalSGDTrainer(model).state().kind,
            "CyclicalSGDTrainer() with CyclicalRate(rate_min=0.01, rate_max=0.1, step_size=2000, "
            "gamma=1)");
  EXPECT_EQ(AdagradTrainer(model).learning_rate, 0.1f);
  EXPECT_EQ(AdagradTrainer(model).state().kind, "AdagradTrainer(epsilon=1e-20)");
  EXPECT_EQ(AdadeltaTrainer(model).learning_rate, 1.0f);
  EXPECT_EQ(AdadeltaTrainer(model).state().kind, "AdadeltaTrainer(rho=0.95, epsilon=1e-06)");
  EXPECT_EQ(RMSPropTrainer(model).learning_rate, 0.1f);
  EXPECT_EQ(RMSPropTrainer(model).state().kind, "RMSPropTrainer(rho=0.95, epsilon=1e-20)");
  EXPECT_EQ(AmsgradTrainer(model).learning_rate, 0.001f);
  EXPECT_EQ(AmsgradTrainer(model).state().kind,
            "AmsgradTrainer(beta_1=0.9, beta_2=0.999, epsilon=1e-08)");
  EXPECT_EQ(EGTrainer(model).learning_rate, 0.1f);
  EXPECT_EQ(EGTrainer(model).state().kind, "EGTrainer(momentum=0.9)");
}

TEST(TrainerDefaultsTest, ConstantsAreChecked) {
  ParameterCollection model;
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(message_of<UsageError>([&] { AdagradTrainer(model, 0.1f, 0.0f); }),
            "[AdagradTrainer] need epsilon > 0; got 0");
  EXPECT_EQ(message_of<UsageError>([&] { AdadeltaTrainer(model, 1e-6f, 1.0f); }),
            "[AdadeltaTrainer] need 0 <= rho < 1 and epsilon > 0; got 1, 1e-06");
  EXPECT_THROW(AdadeltaTrainer(model, nan), UsageError);
  EXPECT_EQ(message_of<UsageError>([&] { RMSPropTrainer(model, 0.1f, 0.5f, -0.5f); }),
            "[RMSPropTrainer] need 0 <= rho < 1 and epsilon > 0; got -0.5, 0.5");
  EXPECT_EQ(message_of<UsageError>([&] { AmsgradTrainer(model, 0.1f, 0.5f, 1.0f, 1.0f); }),
            "[AmsgradTrainer] need 0 <= beta_1, beta_2 < 1 and epsilon > 0; got 0.5, 1, 1");
  EXPECT_EQ(message_of<UsageError>([&] { EGTrainer(model, 0.1f, 1.0f); }),
            "[EGTrainer] need 0 <= momentum < 1; got 1");
  EXPECT_EQ(message_of<UsageError>([&] { CyclicalSGDTrainer(model, 0.5f, 0.25f, 10, 1); }),
            "[CyclicalRate] need finite rates with rate_min <= rate_max, step_size > 0 and "
            "0 <= gamma <= 1; got 0.5, 0.25, 10, 1");
  EXPECT_THROW(CyclicalSGDTrainer(model, 0.1f, infinity), UsageError);
  EXPECT_THROW(CyclicalSGDTrainer(model, nan, 0.1f), UsageError);
  EXPECT_THROW(CyclicalSGDTrainer(model, 0.1f, 0.2f, 0.0f), UsageError);
  EXPECT_THROW(CyclicalSGDTrainer(model, 0.1f, 0.2f, 10, 1.5f), UsageError);
  EGTrainer eg(model);
  EXPECT_THROW(eg.enableCyclicalLR(0.1f, 0.2f, 10, -0.5f), UsageError);
  EXPECT_EQ(eg.learning_rate, 0.1f);
}

TEST(CyclicalRateTest, RisesAndFalls) {
  ParameterCollection model(1, DType::f64);
  const Parameter w = model.add_parameters({1}, ParameterInitConst(0));
  CyclicalSGDTrainer trainer(model, 0.5f, 1.5f, 2);
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
  CyclicalSGDTrainer first(model, 0.5f, 1.5f, 4), second(model, 0.5f, 1.5f, 4);
  for (int i = 0; i < 3; ++i) first.update({});
  second.load_state(first.state());
  EXPECT_EQ(second.learning_rate, 1.25f);
  second.update({});
  EXPECT_EQ(second.learning_rate, 1.5f);
  CyclicalSGDTrainer other(model, 0.5f, 1.5f, 5);
  EXPECT_THROW(other.load_state(first.state()), UsageError);
  EGTrainer eg(model), plain(model);
  eg.enableCyclicalLR();
  EXPECT_EQ(eg.learning_rate, 0.01f);
  EXPECT_THROW(plain.load_state(eg.state()), UsageError);
}

TEST(EGTest, ByHand) {
  ParameterCollection model(1, DType::f64);
  const Parameter w = model.add_parameters({2}, ParameterInitConst(0.5f));
  const LookupParameter table = model.add_lookup_parameters(2, {2}, ParameterInitConst(3));
  EGTrainer trainer(model, 0.5f, 0.5f);
  Gradients gradients;
  add_to(gradients, w, {2.0, 0.0});
  add_to(gradients, table, 1, {0.0, -2.0});
  trainer.update(gradients);  // h = -1, 0
  EXPECT_NEAR(w.values().at(0), 1 / (1 + std::exp(1.0)), 1e-15);
  trainer.update(gradients);  // h = -1.5, 0
  EXPECT_NEAR(w.values().at(0), 1 / (1 + std::exp(2.5)), 1e-15);
  EXPECT_NEAR(w.values().at(0) + w.values().at(1), 1, 1e-15);
  EXPECT_NEAR(table.values(1).at(0), 1 / (1 + std::exp(2.5)), 1e-15);
  EXPECT_EQ(table.values(0).at(0), 3.0);
}

TEST(EGTest, RefusesWhatIsNoDistribution) {
  ParameterCollection model;
  const Parameter good = model.add_parameters({2}, ParameterInitConst(0.5f), "good");
  const Parameter w = model.add_parameters({2}, "w");
  const LookupParameter table = model.add_lookup_parameters(3, {2}, ParameterInitConst(1), "table");
  EGTrainer trainer(model);
  Gradients gradients;
  add_to(gradients, good, {1.0, 2.0});
  add_to(gradients, w, {1.0, 2.0});
  add_to(gradients, table, 0, {1.0, 2.0});
  add_to(gradients, table, 2, {1.0, 2.0});
  const auto refused = [&] {
    const std::string message = message_of<UsageError>([&] { trainer.update(gradients); });
    EXPECT_EQ(as_vector(good.values()), (std::vector<float>{0.5f, 0.5f}));
    EXPECT_EQ(trainer.updates(), 0u);
    return message;
  };
  const std::string need =
      "[EGTrainer(momentum=0.9)] need finite values, none of them negative and not all of them "
      "zero; got others in ";
  for (const std::vector<float>& bad :
       {std::vector<float>{0.0f, 0.0f}, {1.0f, -0.5f}, {1.0f, std::nanf("")}, {1.0f, INFINITY}}) {
    w.set_value(bad);
    EXPECT_EQ(refused(), need + "\"/w\"");
  }
  w.set_value({0.0f, 1.0f});
  table.initialize(2, {-1.0f, 1.0f});
  EXPECT_EQ(refused(), need + "row 2 of \"/table\"");
  table.initialize(1, {-1.0f, 1.0f});  // has no gradient
  table.initialize(2, {1.0f, 1.0f});
  trainer.update(gradients);
  EXPECT_EQ(trainer.updates(), 1u);
}

/// What a parameter and a table hold after an update with gradients and one without any.
std::pair<Bytes, Bytes> after_unused(const Kind& kind, SparseUpdates mode) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({2}, ParameterInitConst(0.5f));
  const LookupParameter table = model.add_lookup_parameters(2, {2}, ParameterInitConst(0.5f));
  const auto trainer = kind.make(model);
  trainer->sparse_updates = mode;
  Gradients gradients, none;
  add_to(gradients, w, {1, 2});
  add_to(gradients, table, 1, {1, 2});
  trainer->update(gradients);
  trainer->update(none);
  return {bytes_of(w.get_storage()), all_bytes(table)};
}

TEST(LazyRowsTest, RowsAloneAreLeftAlone) {
  for (const Kind& kind : kinds()) {
    const auto [w, table] = after_unused(kind, SparseUpdates::lazy_rows);
    EXPECT_TRUE(w == after_unused(kind, SparseUpdates::exact).first) << kind.name;
    EXPECT_TRUE(table == after_unused(kind, SparseUpdates::lazy).second) << kind.name;
  }
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
}

}  // namespace
}  // namespace dynet_like
