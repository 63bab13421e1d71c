// Trainers by themselves: rates that cycle, constants, counted clips, what is left alone and
// forgotten.
#include <utility>

#include "dynet_like/core/errors.h"
#include "dynet_like/train/trainers.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/train/trainer_kinds.h"

namespace dynet_like {
namespace {

using namespace trainer_kinds;

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

TEST(TrainerDefaultsTest, ConstantsAreChecked) {
  ParameterCollection model;
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(message_of<UsageError>([&] { AdagradTrainer(model, 0.1f, 0.0f); }),
            "[AdagradTrainer] need a finite epsilon > 0; got 0");
  EXPECT_EQ(message_of<UsageError>([&] { AdadeltaTrainer(model, 1e-6f, 1.0f); }),
            "[AdadeltaTrainer] need 0 <= rho < 1 and a finite epsilon > 0; got 1, 1e-06");
  EXPECT_THROW(AdadeltaTrainer(model, nan), UsageError);
  EXPECT_EQ(message_of<UsageError>([&] { RMSPropTrainer(model, 0.1f, 0.5f, -0.5f); }),
            "[RMSPropTrainer] need 0 <= rho < 1 and a finite epsilon > 0; got -0.5, 0.5");
  EXPECT_EQ(
      message_of<UsageError>([&] { AmsgradTrainer(model, 0.1f, 0.5f, 1.0f, 1.0f); }),
      "[AmsgradTrainer] need 0 <= beta_1, beta_2 < 1 and a finite epsilon > 0; got 0.5, 1, 1");
  SimpleSGDTrainer trainer(model, 0.1f);
  EXPECT_EQ(message_of<UsageError>([&] {
              trainer.follow({0.5f, 0.25f, 10, 1});
            }),
            "[CyclicalRate] need finite rates with 0 <= rate_min <= rate_max, step_size > 0 and "
            "0 <= gamma <= 1; got 0.5, 0.25, 10, 1");
  EXPECT_THROW(trainer.follow({0.1f, infinity}), UsageError);
  EXPECT_THROW(trainer.follow({nan, 0.1f}), UsageError);
  EXPECT_THROW(trainer.follow({-0.1f, 0.1f}), UsageError);
  EXPECT_THROW(trainer.follow({0.1f, 0.2f, 0.0f}), UsageError);
  EXPECT_THROW(trainer.follow({0.1f, 0.2f, 10, 1.5f}), UsageError);
  EXPECT_THROW(trainer.follow({0.1f, 0.2f, 10, -0.5f}), UsageError);
  EXPECT_EQ(trainer.learning_rate, 0.1f);
}

TEST(TrainerDefaultsTest, RatesAreChecked) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({1}, ParameterInitConst(4));
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(message_of<UsageError>([&] { AdamTrainer(model, -1); }),
            "[Trainer] need a finite learning rate from 0; got -1");
  for (const float wrong : {-0.5f, nan, infinity}) {
    EXPECT_THROW(SimpleSGDTrainer(model, wrong), UsageError);
    EXPECT_THROW(MomentumSGDTrainer(model, wrong), UsageError);
    EXPECT_THROW(AdagradTrainer(model, wrong), UsageError);
    EXPECT_THROW(RMSPropTrainer(model, wrong), UsageError);
    EXPECT_THROW(AdamWTrainer(model, wrong), UsageError);
    EXPECT_THROW(AmsgradTrainer(model, wrong), UsageError);
    EXPECT_THROW(AdadeltaTrainer(model, wrong), UsageError);  // its epsilon
    EXPECT_THROW(AdamTrainer(model, 0.1f, 0.9f, 0.999f, wrong), UsageError);
    SimpleSGDTrainer trainer(model, 0);
    EXPECT_THROW(trainer.restart(wrong), UsageError);
    trainer.update({});
    trainer.learning_rate = wrong;
    EXPECT_THROW(trainer.update({}), UsageError);
  }
  SimpleSGDTrainer trainer(model, 0);
  for (const float wrong : {-1.0f, nan}) {
    trainer.clip_threshold = wrong;
    EXPECT_THROW(trainer.update({}), UsageError);
  }
  EXPECT_EQ(as_scalar(w.values()), 4.0f);
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

}  // namespace
}  // namespace dynet_like
