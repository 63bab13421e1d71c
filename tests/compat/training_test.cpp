// <dynet/training.h>: trainers that clip, decay, save and use gradients as DyNet's do, and what
// they do otherwise than those of the library. golden_test.cpp compares their updates with DyNet's.
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/training.h>

#include "dynet_like/core/errors.h"
#include "tests/support/precompiled.h"

namespace {

using namespace dynet;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using dynet_like::UsageError;

/// A parameter and a table, and gradients that are what a test says.
struct Problem {
  explicit Problem(float weight_decay = 0) : model(weight_decay) {}

  void use_parameter(const Floats& gradient) {
    ComputationGraph graph;
    graph.backward(dot_product(parameter(graph, w), input(graph, {2}, gradient)));
  }
  void use_row(unsigned row, const Floats& gradient) {
    ComputationGraph graph;
    graph.backward(dot_product(lookup(graph, table, row), input(graph, {2}, gradient)));
  }
  Doubles parameter_values() const { return as_doubles(*w.values()); }
  Doubles row_values(unsigned row) const { return as_doubles((*table.values())[row]); }
  Doubles values() const {
    Doubles all = parameter_values();
    for (const double x : as_doubles(table.p->all_values)) all.push_back(x);
    return all;
  }

  ParameterCollection model;
  Parameter w = model.add_parameters({2}, ParameterInitFromVector({0.75f, 0.5f}));
  LookupParameter table = model.add_lookup_parameters(
      3, {2}, ParameterInitFromVector({0.5f, 0.25f, 1.5f, 0.5f, 0.25f, 0.75f}));
};

void expect_near(const Doubles& got, const Doubles& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6) << i;
}

// ------------------------------------------------------------------------------------ all trainers

struct Kind {
  const char* name;
  std::function<std::unique_ptr<Trainer>(ParameterCollection&)> make;
};

template <class SomeTrainer, class... Settings>
Kind kind(const char* name, Settings... settings) {
  return {name, [=](ParameterCollection& model) {
            return std::make_unique<SomeTrainer>(model, settings...);
          }};
}

class CompatTrainerTest : public ::testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(
    All, CompatTrainerTest,
    ::testing::Values(kind<SimpleSGDTrainer>("SimpleSGD", 0.01f),
                      kind<CyclicalSGDTrainer>("CyclicalSGD", 0.001f, 0.01f, 10, 0.99f, 0),
                      kind<MomentumSGDTrainer>("MomentumSGD", 0.001f, 0.9f),
                      kind<AdagradTrainer>("Adagrad", 0.05f, 1e-20f),
                      kind<AdadeltaTrainer>("Adadelta", 1e-6f, 0.95f),
                      kind<RMSPropTrainer>("RMSProp", 0.01f, 1e-20f, 0.95f),
                      kind<AdamTrainer>("Adam", 0.01f, 0.9f, 0.999f, 1e-8f),
                      kind<AmsgradTrainer>("Amsgrad", 0.01f, 0.9f, 0.999f, 1e-8f),
                      Kind{"EG",
                           [](ParameterCollection& model) {
                             auto trainer = std::make_unique<EGTrainer>(model, 0.01f, 0.9f, 0.0f);
                             trainer->enableCyclicalLR(0.001f, 0.01f, 10, 0.9f);
                             return trainer;
                           }}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(CompatTrainerTest, GoesOnFromWhatItSaved) {
  Problem a, b;
  const auto first = GetParam().make(a.model), second = GetParam().make(b.model);
  const auto learn = [](Problem& problem, Trainer& trainer, unsigned row) {
    problem.use_parameter({1, -2});
    problem.use_row(row, {0.5f, static_cast<float>(row)});
    trainer.update();
  };
  first->exponential_moving_average(0.9f);
  second->exponential_moving_average(0.9f);
  for (const unsigned row : {0u, 1u}) learn(a, *first, row);
  EXPECT_EQ(a.model.gradient_l2_norm(), 0);
  EXPECT_EQ(first->model, &a.model);
  std::stringstream text;
  first->save(text);
  text << "what follows";
  b.w.set_value(as_vector(*a.w.values()));
  b.table.p->copy(*a.table.p);
  second->populate(text);
  std::string rest;
  std::getline(text >> std::ws, rest);
  EXPECT_EQ(rest, "what follows");
  EXPECT_EQ(second->learning_rate, first->learning_rate);
  EXPECT_EQ(second->updates, 2);
  for (const unsigned row : {1u, 2u}) {
    learn(a, *first, row);
    learn(b, *second, row);
  }
  EXPECT_EQ(a.values(), b.values());
  first->swap_params_to_moving_average();
  second->swap_params_to_moving_average();
  EXPECT_EQ(a.values(), b.values());
}

TEST_P(CompatTrainerTest, RefusesAnotherState) {
  Problem a, b;
  const auto trainer = GetParam().make(a.model);
  a.use_row(0, {1, 2});
  trainer->update();
  std::stringstream text;
  trainer->save(text);
  const std::string whole = text.str();
  const Doubles before = b.values();
  for (std::size_t length = 0; length + 2 < whole.size(); length += 7) {
    const auto other = GetParam().make(b.model);
    std::istringstream part(whole.substr(0, length));
    EXPECT_THROW(other->populate(part), UsageError) << length;
  }
  SimpleSGDTrainer sgd(b.model);
  MomentumSGDTrainer momentum(b.model);
  const bool is_sgd = GetParam().name == std::string("SimpleSGD");
  EXPECT_THROW((is_sgd ? static_cast<Trainer&>(momentum) : sgd).populate(text), UsageError);
  EXPECT_EQ(b.values(), before);
}

// ---------------------------------------------------------------------------- clipping, decay,
// rates

// Beside the table, whose gradient is 12 or 0, the parameter's is 5.
TEST(CompatTrainingTest, ClipsAtFiveUnlessItIsTold) {
  Problem problem;
  SimpleSGDTrainer trainer(problem.model, 1);
  EXPECT_TRUE(trainer.clipping_enabled);
  EXPECT_EQ(trainer.clip_threshold, 5);
  problem.use_parameter({3, -4});
  problem.use_row(1, {12, 0});
  EXPECT_NEAR(trainer.clip_gradients(), 5.0 / 13, 1e-6);
  EXPECT_EQ(trainer.clips, 1);
  trainer.clips = trainer.clips_since_status = 0;
  trainer.update();
  expect_near(problem.parameter_values(), {0.75 - 15.0 / 13, 0.5 + 20.0 / 13});
  expect_near(problem.row_values(1), {1.5 - 60.0 / 13, 0.5});
  testing::internal::CaptureStderr();
  trainer.status();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[lr=1 clips=1 updates=1] ");
  EXPECT_EQ(trainer.updates_since_status, 0);
  EXPECT_EQ(trainer.clips_since_status, 0);
  EXPECT_EQ(trainer.updates, 1);
  Problem whole;
  SimpleSGDTrainer unclipped(whole.model, 1);
  unclipped.clipping_enabled = false;
  whole.use_row(1, {12, 0});
  EXPECT_EQ(unclipped.clip_gradients(), 1);
  unclipped.update();
  EXPECT_EQ(unclipped.clips, 0);
  expect_near(whole.row_values(1), {-10.5, 0.5});
}

// Frozen, or without sparse updates of a trainer that leaves tables alone then.
TEST(CompatTrainingTest, GradientsOfWhatStaysCountWhereItClips) {
  const auto learn = [](Problem& problem, Trainer& trainer) {
    trainer.clip_threshold = 6.5f;
    problem.use_parameter({3, -4});
    problem.use_row(1, {12, 0});
    trainer.update();
    EXPECT_EQ(trainer.clips, 1);
    expect_near(problem.row_values(1), {1.5, 0.5});
  };
  Problem frozen, tables;
  frozen.table.set_updated(false);
  SimpleSGDTrainer sgd(frozen.model, 0.1f);
  learn(frozen, sgd);
  expect_near(frozen.parameter_values(), {0.75 - 0.15, 0.5 + 0.2});
  EGTrainer exponentiated(tables.model);
  exponentiated.sparse_updates_enabled = false;
  learn(tables, exponentiated);
  const double a = 0.75 * std::exp(-0.15), b = 0.5 * std::exp(0.2);
  expect_near(tables.parameter_values(), {a / (a + b), b / (a + b)});
}

TEST(CompatTrainingTest, ParametersThatAreNotUsedGoOnWithTheirMoments) {
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
    expect_near(problem.row_values(2), {0.25, 0.75});
  }
}

TEST(CompatTrainingTest, SomeParametersCanBeLeftOut) {
  Problem problem;
  SimpleSGDTrainer trainer(problem.model, 0.1f);
  const auto use_both = [&] {
    problem.use_parameter({1, 2});
    problem.use_row(0, {1, 2});
  };
  use_both();
  trainer.update({}, {0});
  expect_near(problem.parameter_values(), {0.75, 0.5});
  expect_near(problem.row_values(0), {0.4, 0.05});
  EXPECT_TRUE(problem.w.is_updated());
  use_both();
  EXPECT_THROW(trainer.update({1}, {}), UsageError);
  EXPECT_TRUE(problem.w.is_updated());
  problem.w.set_updated(false);
  trainer.update({0}, {0});
  expect_near(problem.parameter_values(), {0.75, 0.5});
}

TEST(CompatTrainingTest, WeightsDecay) {
  Problem problem(0.5f);
  SimpleSGDTrainer trainer(problem.model, 0);
  problem.use_row(0, {1, 2});
  trainer.update();
  expect_near(problem.values(), {0.375, 0.25, 0.25, 0.125, 0.75, 0.25, 0.125, 0.375});
  problem.model.get_weight_decay().update_weight_decay();
  trainer.rescale_and_reset_weight_decay();
  expect_near(problem.parameter_values(), {0.1875, 0.125});
  EXPECT_EQ(problem.model.get_weight_decay().current_weight_decay(), 1);
}

TEST(CompatTrainingTest, RestartsAndRates) {
  Problem problem;
  MomentumSGDTrainer trainer(problem.model, 0.01f);
  problem.use_parameter({1, 2});
  trainer.update();
  trainer.update_epoch();
  trainer.update_epoch(2);
  EXPECT_EQ(trainer.learning_rate, 0.01f);
  trainer.restart(0.5f);
  EXPECT_EQ(trainer.learning_rate, 0.5f);
  trainer.restart();
  const Doubles before = problem.values();
  trainer.sparse_updates_enabled = false;
  trainer.update();  // no gradient, and no momentum any more
  EXPECT_EQ(problem.values(), before);
  std::stringstream text;
  trainer.save(text);
  trainer.populate(text, 0.25f);
  EXPECT_EQ(trainer.learning_rate, 0.25f);
}

TEST(CompatTrainingTest, AveragesStandInForWeightsAlsoAfterARestart) {
  Problem problem;
  SimpleSGDTrainer trainer(problem.model, 0.1f);
  EXPECT_EQ(trainer.moving_average(), MovingAverage::None);
  trainer.cumulative_moving_average(1);
  EXPECT_EQ(trainer.moving_average(), MovingAverage::Cumulative);
  Doubles sum(2);
  for (int t = 0; t < 4; ++t) {
    if (t == 2) trainer.restart(0.2f);
    problem.use_parameter({1, 2});
    trainer.update();
    for (std::size_t i = 0; i < 2; ++i) sum[i] += problem.parameter_values()[i];
  }
  const Doubles last = problem.values();
  trainer.swap_params_to_moving_average(true, false);
  expect_near(problem.parameter_values(), {sum[0] / 4, sum[1] / 4});
  trainer.swap_params_to_weights();
  EXPECT_EQ(problem.values(), last);
  std::stringstream text;
  text << trainer.moving_average();
  MovingAverage read = MovingAverage::None;
  text >> read;
  EXPECT_EQ(read, MovingAverage::Cumulative);
  text.clear();
  text << "Other";
  EXPECT_FALSE(text >> read);
}

// EG without sparse updates leaves tables alone, but not what is wrong with their gradients.
TEST(CompatTrainingTest, GradientsThatAreNotFiniteAreRefused) {
  const auto refuse = [](Problem& problem, Trainer& trainer) {
    const Doubles before = problem.values();
    problem.use_parameter({1, 2});
    problem.use_row(1, {std::numeric_limits<float>::infinity(), 0});
    EXPECT_THROW(trainer.update(), dynet_like::NumericError);
    EXPECT_EQ(problem.values(), before);
    EXPECT_TRUE(std::isinf(problem.model.gradient_l2_norm()));  // they are still there
    problem.model.reset_gradient();
    EXPECT_NO_THROW(trainer.update());
  };
  Problem problem;
  AdamTrainer adam(problem.model);
  refuse(problem, adam);
  for (const bool clips : {true, false}) {
    Problem of_eg;
    EGTrainer exponentiated(of_eg.model);
    exponentiated.sparse_updates_enabled = false;
    exponentiated.clipping_enabled = clips;
    refuse(of_eg, exponentiated);
  }
}

// DyNet's gradients are their model's: without a pass over it they are zero.
TEST(CompatTrainingTest, AModelThatTookNoPartInAPassHasZeroGradients) {
  Problem problem, other;
  SimpleSGDTrainer trainer(problem.model);
  AdamTrainer of_other(other.model);
  EGTrainer exponentiated(other.model);
  const Doubles before = problem.values();
  problem.use_parameter({1, 2});
  EXPECT_NO_THROW(of_other.update());
  EXPECT_NO_THROW(exponentiated.update());
  EXPECT_EQ(problem.values(), before);
  trainer.update();
  EXPECT_NE(problem.values(), before);
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
  Problem problem, of_eg;
  CyclicalSGDTrainer trainer(problem.model, 0.01f, 0.1f, 2, 0.9f);
  EGTrainer exponentiated(of_eg.model, 0.25f);
  exponentiated.update();
  exponentiated.enableCyclicalLR(0.01f, 0.1f, 2, 0.9f);
  for (int t = 0; t < 8; ++t) {
    const double rate = rate_after(t, 0.01, 0.1, 2, 0.9);
    EXPECT_NEAR(trainer.learning_rate, rate, 1e-7) << t;
    EXPECT_NEAR(exponentiated.learning_rate, t == 0 ? 0.25 : rate, 1e-7) << t;
    trainer.update();
    exponentiated.update();
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
  EXPECT_THROW(other.populate(text), UsageError);
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
    Problem problem(lambda);
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
  const auto is_nan = [](const Doubles& values) {
    return std::isnan(values[0]) && std::isnan(values[1]);
  };
  for (const Floats& values : {Floats{0.5f, -0.25f}, {-1, -1}, {0, 0}}) {
    Problem problem;
    problem.w.set_value(values);
    problem.table.initialize(1, values);
    EGTrainer trainer(problem.model);
    problem.use_row(0, {1, 2});
    trainer.update();
    EXPECT_TRUE(is_nan(problem.parameter_values()));
    EXPECT_EQ(problem.row_values(1), Doubles(values.begin(), values.end()));
    problem.use_row(1, {1, 2});
    trainer.update();
    EXPECT_TRUE(is_nan(problem.row_values(1)));
    EXPECT_FALSE(is_nan(problem.row_values(0)));
  }
  Problem problem;
  problem.w.set_value({0, 2});
  EGTrainer trainer(problem.model);
  trainer.update();
  EXPECT_EQ(problem.parameter_values(), (Doubles{0, 1}));
}

TEST(CompatEGTest, TablesStayWithoutSparseUpdatesButForTheDecay) {
  Problem problem(0.5f);
  EGTrainer trainer(problem.model);
  trainer.sparse_updates_enabled = false;
  trainer.cumulative_moving_average();
  for (int t = 0; t < 2; ++t) {
    problem.use_parameter({1, 2});
    problem.use_row(0, {1, 2});
    trainer.update();
    EXPECT_EQ(problem.model.gradient_l2_norm(), 0);
  }
  EXPECT_NE(problem.parameter_values()[0], 0.75);
  expect_near(problem.row_values(0), {0.125, 0.0625});
  expect_near(problem.row_values(1), {0.375, 0.125});
  trainer.swap_params_to_moving_average();
  expect_near(problem.row_values(0), {0.1875, 0.09375});
}

}  // namespace
