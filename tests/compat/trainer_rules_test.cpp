// <dynet/training.h>: what trainers of DyNet do otherwise than those of the library; in doubles.
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/training.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <sstream>

#include "dynet_like/core/errors.h"

namespace {

using namespace dynet;
using Doubles = std::vector<double>;

/// A parameter and a table, and gradients that are what a test says.
struct Problem {
  ParameterCollection model;
  Parameter w = model.add_parameters({2}, ParameterInitFromVector({0.75f, 0.5f}));
  LookupParameter table = model.add_lookup_parameters(
      3, {2}, ParameterInitFromVector({0.5f, 0.25f, 1.5f, 0.5f, 0.25f, 0.75f}));

  void use_parameter(const std::vector<float>& gradient) { use(w, gradient); }
  void use_row(unsigned row, const std::vector<float>& gradient) {
    ComputationGraph graph;
    graph.backward(dot_product(lookup(graph, table, row), input(graph, {2}, gradient)));
  }
  Doubles parameter_values() const { return as_doubles(*w.values()); }
  Doubles row_values(unsigned row) const { return as_doubles((*table.values())[row]); }

 private:
  static void use(const Parameter& p, const std::vector<float>& gradient) {
    ComputationGraph graph;
    graph.backward(dot_product(parameter(graph, p), input(graph, {2}, gradient)));
  }
};

void expect_near(const Doubles& got, const Doubles& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6) << i;
}

// ------------------------------------------------------------------- restarts, unused parameters

/// Moments that begin with the update after a restart, bias that is corrected for all updates.
template <class AdamKind>
void expect_counting_goes_on() {
  Problem problem;
  AdamKind trainer(problem.model, 0.1f);
  const Doubles gradient = {0.5, -2};
  const double b1 = static_cast<double>(0.9f), b2 = static_cast<double>(0.999f);
  Doubles expected = problem.parameter_values(), mean(2), square(2);
  for (int t = 1; t <= 6; ++t) {
    problem.use_parameter({0.5f, -2});
    trainer.update();
    for (std::size_t i = 0; i < 2; ++i) {
      mean[i] = b1 * mean[i] + (1 - b1) * gradient[i];
      square[i] = b2 * square[i] + (1 - b2) * gradient[i] * gradient[i];
      const double corrected = std::sqrt(1 - std::pow(b2, t)) / (1 - std::pow(b1, t));
      expected[i] -= static_cast<double>(0.1f) * corrected * mean[i] / std::sqrt(square[i]);
    }
    expect_near(problem.parameter_values(), expected);
    if (t != 3) continue;
    trainer.restart();
    mean = square = Doubles(2);
  }
  EXPECT_EQ(trainer.updates, 6);
}

TEST(CompatRestartTest, AdamGoesOnCounting) { expect_counting_goes_on<AdamTrainer>(); }
TEST(CompatRestartTest, AmsgradGoesOnCounting) { expect_counting_goes_on<AmsgradTrainer>(); }

TEST(CompatRestartTest, AveragesGoOn) {
  Problem problem;
  SimpleSGDTrainer trainer(problem.model, 0.1f);
  trainer.cumulative_moving_average();
  Doubles sum(2);
  for (int t = 0; t < 4; ++t) {
    if (t == 2) trainer.restart(0.2f);
    problem.use_parameter({1, 2});
    trainer.update();
    for (std::size_t i = 0; i < 2; ++i) sum[i] += problem.parameter_values()[i];
  }
  trainer.swap_params_to_moving_average();
  expect_near(problem.parameter_values(), {sum[0] / 4, sum[1] / 4});
}

TEST(CompatTrainerRulesTest, ParametersThatAreNotUsedGoOnWithTheirMoments) {
  for (const bool sparse : {true, false}) {
    Problem problem;
    MomentumSGDTrainer trainer(problem.model, 0.1f, 0.5f);
    trainer.sparse_updates_enabled = sparse;
    problem.use_parameter({1, -2});
    problem.use_row(1, {1, -2});
    trainer.update();
    trainer.update();  // by half as much
    expect_near(problem.parameter_values(), {0.75 - 0.15, 0.5 + 0.3});
    const double moves = sparse ? 1 : 1.5;
    expect_near(problem.row_values(1), {1.5 - 0.1 * moves, 0.5 + 0.2 * moves});
  }
}

// The norm of the gradients is 13; 5 without the table.
TEST(CompatTrainerRulesTest, GradientsOfFrozenParametersCountWhereItClips) {
  Problem problem;
  problem.table.set_updated(false);
  SimpleSGDTrainer trainer(problem.model, 0.1f);
  trainer.clip_threshold = 6.5f;
  problem.use_parameter({3, -4});
  problem.use_row(1, {12, 0});
  EXPECT_EQ(trainer.clip_gradients(), 0.5f);
  trainer.update();
  EXPECT_EQ(trainer.clips, 2);
  expect_near(problem.parameter_values(), {0.75 - 0.15, 0.5 + 0.2});
  expect_near(problem.row_values(1), {1.5, 0.5});
}

// ------------------------------------------------------------------------------ rates that cycle

/// DyNet's learning rate after so many updates.
double rate_after(int updates, double low, double high, double step_size, double gamma) {
  if (updates == 0) return low;
  const double n = updates - 1, cycle = std::floor(1 + n / (2 * step_size));
  const double x = std::abs(n / step_size - 2 * cycle + 1);
  return low + (high - low) * std::max(0.0, 1 - x) * std::pow(gamma, n);
}

TEST(CompatCyclicalTest, TheCycleBeginsWithTheSecondUpdate) {
  Problem problem;
  CyclicalSGDTrainer trainer(problem.model, 0.01f, 0.1f, 2, 0.9f);
  Doubles expected = problem.parameter_values();
  for (int t = 0; t < 8; ++t) {
    const double rate = rate_after(t, 0.01, 0.1, 2, 0.9);
    EXPECT_NEAR(trainer.learning_rate, rate, 1e-7) << t;
    problem.use_parameter({1, 2});
    trainer.update();
    expected = {expected[0] - rate, expected[1] - 2 * rate};
    expect_near(problem.parameter_values(), expected);
    if (t == 3) trainer.restart();  // forgets nothing
  }
}

TEST(CompatCyclicalTest, TextsHaveItsName) {
  Problem problem;
  CyclicalSGDTrainer trainer(problem.model, 0.01f, 0.1f, 2, 0.9f);
  SimpleSGDTrainer other(problem.model);
  std::stringstream text;
  trainer.save(text);
  EXPECT_TRUE(text.str().starts_with(
      "#Trainer# CyclicalSGDTrainer() with CyclicalRate(rate_min=0.01, rate_max=0.1, step_size=2, "
      "gamma=0.9, first=1)\n"))
      << text.str();
  EXPECT_THROW(other.populate(text), dynet_like::UsageError);
}

TEST(CompatCyclicalTest, EGKeepsItsRateForTheUpdateThatFollows) {
  Problem problem;
  EGTrainer trainer(problem.model, 0.25f);
  trainer.update();
  trainer.enableCyclicalLR(0.01f, 0.1f, 2, 0.9f);
  EXPECT_EQ(trainer.learning_rate, 0.25f);
  for (int t = 1; t < 8; ++t) {
    trainer.update();
    EXPECT_NEAR(trainer.learning_rate, rate_after(t, 0.01, 0.1, 2, 0.9), 1e-7) << t;
  }
}

// ------------------------------------------------------------------------ exponentiated gradients

/// DyNet's formula for the numbers in its memory; what a graph sees is `decay` times as much.
struct PlainEG {
  Doubles w, velocity = Doubles(2);
  double decay = 1, lambda = 0;

  void update(const Doubles& gradient) {
    double sum = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      velocity[i] = 0.9 * velocity[i] - 0.1 * gradient[i];
      w[i] *= std::exp(velocity[i] / decay);
      sum += w[i];
    }
    for (double& x : w) x /= sum;
    decay *= 1 - lambda;
    if (decay >= 0.25) return;
    for (double& x : w) x *= decay;
    decay = 1;
  }
  Doubles as_seen() const { return {w[0] * decay, w[1] * decay}; }
};

TEST(CompatEGTest, DecayIsLeftOutWhereNumbersAreNormalised) {
  for (const float lambda : {0.0f, 0.125f}) {
    Problem problem;
    problem.model.set_weight_decay_lambda(lambda);
    EGTrainer trainer(problem.model);
    PlainEG plain{problem.parameter_values()};
    plain.lambda = static_cast<double>(lambda);
    for (unsigned t = 0; t < 24; ++t) {
      const bool used = t % 4 != 3;  // without a gradient it is zero
      if (used) problem.use_parameter({0.5f, -0.25f * static_cast<float>(t)});
      trainer.update();
      plain.update(used ? Doubles{0.5, -0.25 * t} : Doubles{0, 0});
      expect_near(problem.parameter_values(), plain.as_seen());
    }
  }
}

TEST(CompatEGTest, ParametersAreNormalisedWithoutAGradientToo) {
  Problem problem;
  EGTrainer trainer(problem.model);
  trainer.update();
  expect_near(problem.parameter_values(), {0.6, 0.4});
  expect_near(problem.row_values(0), {0.5, 0.25});
  problem.use_row(0, {0, 0});
  trainer.update();
  expect_near(problem.row_values(0), {2.0 / 3, 1.0 / 3});
}

TEST(CompatEGTest, WhatIsNoDistributionBecomesNaN) {
  for (const std::vector<float>& values : {std::vector<float>{0.5f, -0.25f}, {-1, -1}, {0, 0}}) {
    Problem problem;
    problem.w.set_value(values);
    problem.table.initialize(1, values);
    EGTrainer trainer(problem.model);
    problem.use_row(0, {1, 2});
    trainer.update();
    for (const double x : problem.parameter_values()) EXPECT_TRUE(std::isnan(x));
    EXPECT_EQ(problem.row_values(1), Doubles(values.begin(), values.end()));
    EXPECT_FALSE(std::isnan(problem.row_values(0)[0]));
    problem.use_row(1, {1, 2});
    trainer.update();
    for (const double x : problem.row_values(1)) EXPECT_TRUE(std::isnan(x));
    EXPECT_FALSE(std::isnan(problem.row_values(0)[0]));
  }
  Problem problem;
  problem.w.set_value({0, 2});
  EGTrainer trainer(problem.model);
  trainer.update();
  EXPECT_EQ(problem.parameter_values(), (Doubles{0, 1}));
}

TEST(CompatEGTest, TablesStayWithoutSparseUpdates) {
  Problem problem;
  problem.model.set_weight_decay_lambda(0.5f);
  EGTrainer trainer(problem.model);
  trainer.sparse_updates_enabled = false;
  problem.use_parameter({1, 2});
  problem.use_row(0, {1, 2});
  trainer.update();
  EXPECT_NE(problem.parameter_values()[0], 0.75);
  expect_near(problem.row_values(0), {0.25, 0.125});  // but for the decay
  expect_near(problem.row_values(1), {0.75, 0.25});
  EXPECT_EQ(problem.model.gradient_l2_norm(), 0);
}

TEST(CompatEGTest, TablesThatStayAreAveraged) {
  Problem problem;
  problem.model.set_weight_decay_lambda(0.5f);
  EGTrainer trainer(problem.model);
  trainer.sparse_updates_enabled = false;
  trainer.cumulative_moving_average();
  for (int t = 0; t < 2; ++t) {
    problem.use_row(0, {1, 2});
    trainer.update();
  }
  expect_near(problem.row_values(0), {0.125, 0.0625});
  trainer.swap_params_to_moving_average();
  expect_near(problem.row_values(0), {0.1875, 0.09375});
}

// The norm of the gradients is 13; 5 without the table.
TEST(CompatEGTest, GradientsOfTablesThatStayCountWhereItClips) {
  Problem problem;
  EGTrainer trainer(problem.model);
  PlainEG plain{problem.parameter_values()};
  trainer.sparse_updates_enabled = false;
  trainer.clip_threshold = 6.5f;
  problem.use_parameter({3, -4});
  problem.use_row(1, {12, 0});
  trainer.update();
  plain.update({1.5, -2});
  EXPECT_EQ(trainer.clips, 1);
  expect_near(problem.parameter_values(), plain.as_seen());
  expect_near(problem.row_values(1), {1.5, 0.5});
}

TEST(CompatEGTest, GradientsOfTablesThatStayMustBeFinite) {
  for (const bool clips : {true, false}) {
    Problem problem;
    EGTrainer trainer(problem.model);
    trainer.sparse_updates_enabled = false;
    trainer.clipping_enabled = clips;
    problem.use_parameter({1, 2});
    problem.use_row(1, {std::numeric_limits<float>::infinity(), 0});
    EXPECT_THROW(trainer.update(), dynet_like::NumericError);
    EXPECT_EQ(problem.parameter_values(), (Doubles{0.75, 0.5}));
    EXPECT_TRUE(std::isinf(problem.model.gradient_l2_norm()));  // they are still there
    problem.model.reset_gradient();
    trainer.update();
    expect_near(problem.parameter_values(), {0.6, 0.4});
  }
}

}  // namespace
