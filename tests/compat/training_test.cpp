// <dynet/training.h>: trainers that clip and use gradients as DyNet's do.
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/training.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <sstream>

#include "dynet_like/core/errors.h"

namespace {

using namespace dynet;
using Floats = std::vector<float>;
using MakeTrainer = std::function<std::unique_ptr<Trainer>(ParameterCollection&)>;

struct Kind {
  const char* name;
  MakeTrainer make;
};

// A little regression: a parameter, and rows of a table.
class Problem {
 public:
  explicit Problem(float weight_decay = 0) : model(weight_decay) {
    p = model.add_parameters({2}, ParameterInitConst(0.5f));
    t = model.add_lookup_parameters(3, {2}, ParameterInitConst(0.5f));
  }
  float step(unsigned row, float scale = 1) {
    ComputationGraph graph;
    const Expression x = input(graph, {2}, {1, 2});
    const Expression error =
        dot_product(parameter(graph, p), x) + dot_product(lookup(graph, t, row), x) + -1.0f;
    const Expression loss = square(error) * scale;
    const float value = as_scalar(graph.forward(loss));
    graph.backward(loss);
    return value;
  }
  Floats values() const {
    Floats result = as_vector(*p.values());
    for (const float x : as_vector(t.p->all_values)) result.push_back(x);
    return result;
  }

  ParameterCollection model;
  Parameter p;
  LookupParameter t;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"SimpleSGD",
       [](ParameterCollection& m) { return std::make_unique<SimpleSGDTrainer>(m, 0.01f); }},
      {"CyclicalSGD",
       [](ParameterCollection& m) {
         return std::make_unique<CyclicalSGDTrainer>(m, 0.001f, 0.01f, 10, 0.99f, 0);
       }},
      {"MomentumSGD",
       [](ParameterCollection& m) {
         return std::make_unique<MomentumSGDTrainer>(m, 0.001f, 0.9f);
       }},
      {"Adagrad",
       [](ParameterCollection& m) { return std::make_unique<AdagradTrainer>(m, 0.05f, 1e-20f); }},
      {"Adadelta",
       [](ParameterCollection& m) { return std::make_unique<AdadeltaTrainer>(m, 1e-6f, 0.95f); }},
      {"RMSProp",
       [](ParameterCollection& m) {
         return std::make_unique<RMSPropTrainer>(m, 0.01f, 1e-20f, 0.95f);
       }},
      {"Adam",
       [](ParameterCollection& m) {
         return std::make_unique<AdamTrainer>(m, 0.01f, 0.9f, 0.999f, 1e-8f);
       }},
      {"Amsgrad",
       [](ParameterCollection& m) {
         return std::make_unique<AmsgradTrainer>(m, 0.01f, 0.9f, 0.999f, 1e-8f);
       }},
      {"EG",
       [](ParameterCollection& m) {
         auto trainer = std::make_unique<EGTrainer>(m, 0.01f, 0.9f, 0.0f);
         trainer->enableCyclicalLR(0.001f, 0.01f, 10, 0.9f);
         return trainer;
       }},
  };
  return all;
}

class CompatTrainerTest : public ::testing::TestWithParam<Kind> {};

TEST_P(CompatTrainerTest, Learns) {
  Problem problem;
  const auto trainer = GetParam().make(problem.model);
  const float before = problem.step(0);
  trainer->update();
  EXPECT_EQ(problem.model.gradient_l2_norm(), 0);
  for (int i = 0; i < 20; ++i) {
    problem.step(0);
    trainer->update();
  }
  EXPECT_LT(problem.step(0), before);
  problem.model.reset_gradient();
  EXPECT_EQ(trainer->updates, 21);
  EXPECT_EQ(trainer->model, &problem.model);
}

TEST_P(CompatTrainerTest, GoesOnFromWhatItSaved) {
  Problem a, b;
  const auto first = GetParam().make(a.model), second = GetParam().make(b.model);
  first->exponential_moving_average(0.9f);
  second->exponential_moving_average(0.9f);
  for (const unsigned row : {0u, 1u}) {
    a.step(row);
    first->update();
  }
  std::stringstream text;
  first->save(text);
  text << "what follows";
  b.p.set_value(as_vector(*a.p.values()));
  b.t.p->copy(*a.t.p);
  second->populate(text);
  std::string rest;
  std::getline(text >> std::ws, rest);
  EXPECT_EQ(rest, "what follows");
  EXPECT_EQ(second->learning_rate, first->learning_rate);
  EXPECT_EQ(second->updates, 2);
  for (const unsigned row : {1u, 2u}) {
    a.step(row);
    first->update();
    b.step(row);
    second->update();
  }
  EXPECT_EQ(a.values(), b.values());
  first->swap_params_to_moving_average();
  second->swap_params_to_moving_average();
  EXPECT_EQ(a.values(), b.values());
}

TEST_P(CompatTrainerTest, RefusesAnotherState) {
  Problem a, b;
  const auto trainer = GetParam().make(a.model);
  a.step(0);
  trainer->update();
  std::stringstream text;
  trainer->save(text);
  const std::string whole = text.str();
  const Floats before = b.values();
  for (std::size_t length = 0; length + 2 < whole.size(); length += 7) {
    const auto other = GetParam().make(b.model);
    std::istringstream part(whole.substr(0, length));
    EXPECT_THROW(other->populate(part), dynet_like::UsageError) << length;
  }
  SimpleSGDTrainer sgd(b.model);
  MomentumSGDTrainer momentum(b.model);
  std::istringstream in(whole);
  if (GetParam().name == std::string("SimpleSGD")) {
    EXPECT_THROW(momentum.populate(in), dynet_like::UsageError);
  } else {
    EXPECT_THROW(sgd.populate(in), dynet_like::UsageError);
  }
  EXPECT_EQ(b.values(), before);
}

INSTANTIATE_TEST_SUITE_P(All, CompatTrainerTest, ::testing::ValuesIn(kinds()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(CompatTrainingTest, ClipsAtFiveUnlessItIsTold) {
  Problem clipped, whole;
  SimpleSGDTrainer a(clipped.model, 1), b(whole.model, 1);
  EXPECT_TRUE(a.clipping_enabled);
  EXPECT_EQ(a.clip_threshold, 5);
  b.clipping_enabled = false;
  clipped.step(0, 100);
  EXPECT_LT(a.clip_gradients(), 1);
  EXPECT_EQ(a.clips, 1);
  a.clips = a.clips_since_status = 0;
  const Floats before = clipped.values();
  a.update();
  EXPECT_EQ(a.clips, 1);
  double squares = 0;
  const Floats after = clipped.values();
  for (std::size_t i = 0; i < before.size(); ++i) squares += std::pow(after[i] - before[i], 2);
  EXPECT_NEAR(std::sqrt(squares), 5, 1e-4);
  whole.step(0, 100);
  EXPECT_EQ(b.clip_gradients(), 1);
  const float norm = whole.model.gradient_l2_norm();
  b.update();
  squares = 0;
  const Floats changed = whole.values();
  for (std::size_t i = 0; i < before.size(); ++i) squares += std::pow(changed[i] - before[i], 2);
  EXPECT_NEAR(std::sqrt(squares) / norm, 1, 1e-4);
  EXPECT_EQ(b.clips, 0);
  testing::internal::CaptureStderr();
  a.status();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[lr=1 clips=1 updates=1] ");
  EXPECT_EQ(a.updates_since_status, 0);
  EXPECT_EQ(a.clips_since_status, 0);
  EXPECT_EQ(a.updates, 1);
}

TEST(CompatTrainingTest, SparseUpdatesLeaveOtherRowsAlone) {
  Problem sparse, dense;
  MomentumSGDTrainer a(sparse.model, 0.01f), b(dense.model, 0.01f);
  b.sparse_updates_enabled = false;
  for (const unsigned row : {0u, 1u}) {
    sparse.step(row);
    a.update();
    dense.step(row);
    b.update();
  }
  // Momentum moves row 0 again only where its gradient counts as zero.
  EXPECT_NE(sparse.t.p->values[0].v[0], dense.t.p->values[0].v[0]);
  EXPECT_EQ(sparse.t.p->values[2].v[0], 0.5f);
  EXPECT_EQ(dense.t.p->values[2].v[0], 0.5f);
}

TEST(CompatTrainingTest, SomeParametersCanBeLeftOut) {
  Problem problem;
  SimpleSGDTrainer trainer(problem.model, 0.01f);
  const Floats before = problem.values();
  problem.step(0);
  trainer.update({}, {0});
  const Floats after = problem.values();
  EXPECT_EQ(after[0], before[0]);
  EXPECT_NE(after[2], before[2]);
  EXPECT_TRUE(problem.p.is_updated());
  problem.step(0);
  EXPECT_THROW(trainer.update({1}, {}), dynet_like::UsageError);
  EXPECT_TRUE(problem.p.is_updated());
  problem.p.set_updated(false);
  problem.step(0);
  trainer.update({0}, {0});
  EXPECT_EQ(problem.values()[0], before[0]);
}

TEST(CompatTrainingTest, WeightsDecay) {
  Problem problem(0.5f);
  SimpleSGDTrainer trainer(problem.model, 0);
  const Floats before = problem.values();
  problem.step(0);
  trainer.update();
  Floats after = problem.values();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], before[i] / 2) << i;
  problem.model.get_weight_decay().update_weight_decay();
  trainer.rescale_and_reset_weight_decay();
  after = problem.values();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], before[i] / 4) << i;
  EXPECT_EQ(problem.model.get_weight_decay().current_weight_decay(), 1);
}

TEST(CompatTrainingTest, RestartsAndRates) {
  Problem problem;
  MomentumSGDTrainer trainer(problem.model, 0.01f);
  problem.step(0);
  trainer.update();
  trainer.update_epoch();
  trainer.update_epoch(2);
  EXPECT_EQ(trainer.learning_rate, 0.01f);
  trainer.restart(0.5f);
  EXPECT_EQ(trainer.learning_rate, 0.5f);
  trainer.restart();
  const Floats before = problem.values();
  trainer.sparse_updates_enabled = false;
  trainer.update();  // no gradient, and no momentum any more
  EXPECT_EQ(problem.values(), before);
  std::stringstream text;
  trainer.save(text);
  trainer.populate(text, 0.25f);
  EXPECT_EQ(trainer.learning_rate, 0.25f);
}

TEST(CompatTrainingTest, AveragesStandInForWeights) {
  Problem problem;
  SimpleSGDTrainer trainer(problem.model, 0.01f);
  EXPECT_EQ(trainer.moving_average(), MovingAverage::None);
  trainer.cumulative_moving_average(1);
  EXPECT_EQ(trainer.moving_average(), MovingAverage::Cumulative);
  problem.step(0);
  trainer.update();
  const Floats first = problem.values();
  problem.step(0);
  trainer.update();
  const Floats second = problem.values();
  trainer.swap_params_to_moving_average(true, false);
  EXPECT_NEAR(problem.values()[0], (first[0] + second[0]) / 2, 1e-6);
  trainer.swap_params_to_weights();
  EXPECT_EQ(problem.values(), second);
  std::stringstream text;
  text << trainer.moving_average();
  MovingAverage read = MovingAverage::None;
  text >> read;
  EXPECT_EQ(read, MovingAverage::Cumulative);
  text.clear();
  text << "Other";
  EXPECT_FALSE(text >> read);
}

TEST(CompatTrainingTest, GradientsThatAreNotFiniteAreRefused) {
  Problem problem;
  AdamTrainer trainer(problem.model);
  const Floats before = problem.values();
  problem.step(0, std::numeric_limits<float>::infinity());
  EXPECT_THROW(trainer.update(), dynet_like::NumericError);
  EXPECT_EQ(problem.values(), before);
  problem.model.reset_gradient();
}

// DyNet's gradients are their model's: without a pass over it they are zero.
TEST(CompatTrainingTest, AModelThatTookNoPartInAPassHasZeroGradients) {
  Problem problem, other;
  SimpleSGDTrainer trainer(problem.model);
  AdamTrainer of_other(other.model);
  EGTrainer exponentiated(other.model);
  const Floats before = problem.values();
  problem.step(0);
  EXPECT_NO_THROW(of_other.update());
  EXPECT_NO_THROW(exponentiated.update());
  EXPECT_EQ(problem.values(), before);
  trainer.update();
  EXPECT_NE(problem.values(), before);
}

}  // namespace
