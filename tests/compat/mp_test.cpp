// <dynet/mp.h>: training in several processes.
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/mp.h>
#include <dynet/training.h>

#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace {

using namespace dynet;
using namespace boost::interprocess;       // DyNet's examples write it
using Datum = std::pair<unsigned, float>;  // a row, and what it should be

// A number per row of a table, behind a product, so that every kind of parameter takes part.
struct Learner : mp::ILearner<Datum, float> {
  Learner()
      : table(model.add_lookup_parameters(4, {2}, ParameterInitConst(0.1f))),
        w(model.add_parameters({1, 2}, ParameterInitConst(1))) {}

  float LearnFromDatum(const Datum& datum, bool learn) override {
    ComputationGraph graph;
    const Expression y = parameter(graph, w) * lookup(graph, table, datum.first);
    const Expression loss = squared_distance(y, input(graph, datum.second));
    const float value = as_scalar(graph.forward(loss));
    if (datum.second > 100) throw std::runtime_error("a datum that fails");
    if (learn) graph.backward(loss);
    return value;
  }
  void SaveModel() override { ++saved; }

  std::vector<float> values() const {
    std::vector<float> all = as_vector(table.get_storage().all_values);
    for (const float value : as_vector(*w.values())) all.push_back(value);
    return all;
  }

  ParameterCollection model;
  LookupParameter table;
  Parameter w;
  int saved = 0;
};

class CompatMpTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!dynet_like::default_device()->is_cpu()) {
      GTEST_SKIP() << "processes share memory of the CPU, not of another device";
    }
    DynetParams params;
    params.random_seed = 1;
    params.shared_parameters = true;
    params.threads = 2;
    initialize(params);
    for (unsigned i = 0; i < 40; ++i) train.push_back({i % 4, 0.5f * static_cast<float>(i % 4)});
    for (unsigned i = 0; i < 4; ++i) dev.push_back({i, 0.5f * static_cast<float>(i)});
    testing::internal::CaptureStderr();
    capturing = true;
  }
  ~CompatMpTest() override {
    if (capturing) testing::internal::GetCapturedStderr();
    initialize(DynetParams());
  }
  std::string written() {
    capturing = false;
    return testing::internal::GetCapturedStderr();
  }
  static float loss_of(Learner& learner, const std::vector<Datum>& data) {
    float loss = 0;
    for (const Datum& datum : data) loss += learner.LearnFromDatum(datum, false);
    return loss;
  }

  std::vector<Datum> train, dev;
  bool capturing = false;
};

TEST_F(CompatMpTest, OneProcessLearnsWhatThisOneWould) {
  Learner here, there;
  SimpleSGDTrainer trainer_here(here.model), trainer_there(there.model);
  reset_rng(3);  // the order of the data
  mp::run_single_process(&here, &trainer_here, train, dev, 1, 10, 0, 1);
  reset_rng(3);
  mp::run_multi_process(1, &there, &trainer_there, train, dev, 1, 10, 0);
  EXPECT_EQ(there.values(), here.values());
  EXPECT_EQ(there.saved, here.saved);
}

TEST_F(CompatMpTest, SeveralProcessesLearnTheSameParameters) {
  Learner learner;
  AdamTrainer trainer(learner.model, 0.05f);
  const float before = loss_of(learner, dev);
  learner.values();  // what was handed out here does not hinder the others
  mp::run_multi_process(3, &learner, &trainer, train, dev, 10, 20, 5);
  EXPECT_LT(loss_of(learner, dev), 0.05f * before);
  EXPECT_GE(learner.saved, 1);
  const std::string text = written();
  EXPECT_TRUE(dynet_like::mentions(text, "10\tdev loss = "));
  EXPECT_TRUE(dynet_like::mentions(text, "(New best!)"));
  EXPECT_TRUE(dynet_like::mentions(text, "train loss: "));
  // The values are this process's, too: it goes on with them.
  const auto values = learner.values();
  trainer.update();
  learner.LearnFromDatum({3, -4}, true);
  trainer.update();
  EXPECT_NE(learner.values(), values);
}

TEST_F(CompatMpTest, AMinibatchOfProcessesIsOneUpdate) {
  Learner one, several, by_hand;
  SimpleSGDTrainer trainer_one(one.model, 0.01f), trainer_several(several.model, 0.01f),
      trainer_by_hand(by_hand.model, 0.01f);
  const float loss = mp::run_sp_minibatch_trainer(&one, &trainer_one, train);
  EXPECT_NEAR(mp::run_mp_minibatch_trainer(2, &several, &trainer_several, train), loss, 1e-4);
  // As DyNet's example is written.
  EXPECT_NEAR(mp::run_mp_minibatch(2, &by_hand, train), loss, 1e-4);
  trainer_by_hand.update();
  const auto expected = one.values();
  for (const auto& got : {several.values(), by_hand.values()}) {
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5) << i;
  }
}

TEST_F(CompatMpTest, AProcessThatFailsIsAnError) {
  Learner learner;
  SimpleSGDTrainer trainer(learner.model);
  train[7].second = 1000;
  EXPECT_THROW(mp::run_multi_process(2, &learner, &trainer, train, dev, 1, 20, 0),
               std::runtime_error);
  EXPECT_TRUE(dynet_like::mentions(written(), "a datum that fails"));
}

TEST_F(CompatMpTest, ParametersMustBeShared) {
  initialize(DynetParams());
  Learner learner;
  SimpleSGDTrainer trainer(learner.model);
  try {
    mp::run_multi_process(2, &learner, &trainer, train, dev, 1, 20, 0);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_TRUE(
        dynet_like::mentions(std::string(error.what()), "call initialize(argc, argv, true)"));
  }
  EXPECT_THROW(mp::run_mp_minibatch(2, &learner, train), std::invalid_argument);
}

// As DyNet's example is written: one graph, made before the processes, whose inputs are behind
// pointers.
struct XorLearner : mp::ILearner<std::vector<real>, real> {
  explicit XorLearner(ParameterCollection& model) {
    const Parameter p_W = model.add_parameters({8, 2}), p_b = model.add_parameters({8});
    const Parameter p_V = model.add_parameters({1, 8}), p_a = model.add_parameters({1});
    const Expression h = tanh(parameter(cg, p_W) * input(cg, {2}, &x_values) + parameter(cg, p_b));
    loss = squared_distance(parameter(cg, p_V) * h + parameter(cg, p_a), input(cg, &y_value));
  }
  real LearnFromDatum(const std::vector<real>& datum, bool learn) override {
    x_values = {datum[0], datum[1]};
    y_value = datum[2];
    const real value = as_scalar(cg.forward(loss));
    if (learn) cg.backward(loss);
    return value;
  }
  void SaveModel() override {}

  ComputationGraph cg;
  std::vector<real> x_values = {0, 0};
  real y_value = 0;
  Expression loss;
};

TEST_F(CompatMpTest, AGraphMayBeMadeBefore) {
  const std::vector<std::vector<real>> data = {{1, 1, -1}, {1, -1, 1}, {-1, 1, 1}, {-1, -1, -1}};
  {
    ParameterCollection model;
    XorLearner learner(model);
    SimpleSGDTrainer trainer(model);
    EXPECT_THROW(mp::run_multi_process(2, &learner, &trainer, data, data, 1, 4, 4),
                 std::invalid_argument);  // its threads are not there in other processes
  }
  DynetParams params;
  params.random_seed = 1;
  params.shared_parameters = true;
  initialize(params);
  ParameterCollection model;
  XorLearner learner(model);
  SimpleSGDTrainer trainer(model);
  mp::run_multi_process<std::vector<real>>(2, &learner, &trainer, data, data, 200, 4, 0);
  real loss = 0;
  for (const auto& datum : data) loss += learner.LearnFromDatum(datum, false);
  EXPECT_LT(loss, 0.1f);
}

// A loss of the program's own, as in DyNet's example: losses that are compared or printed are not
// const.
struct Statistics {
  real loss = 0;
  unsigned count = 0;

  Statistics& operator+=(const Statistics& other) {
    loss += other.loss;
    count += other.count;
    return *this;
  }
  bool operator<(const Statistics& other) { return loss < other.loss; }
  friend std::ostream& operator<<(std::ostream& out, Statistics& it) {
    return out << it.loss << " of " << it.count;
  }
};

struct CountingLearner : mp::ILearner<Datum, Statistics> {
  Statistics LearnFromDatum(const Datum& datum, bool learn) override {
    return {learner.LearnFromDatum(datum, learn), 1};
  }
  void SaveModel() override { learner.SaveModel(); }

  Learner learner;
};

TEST_F(CompatMpTest, LossesMayBeOfTheProgramsOwnType) {
  CountingLearner one, several;
  SimpleSGDTrainer trainer_one(one.learner.model), trainer_several(several.learner.model);
  mp::run_single_process(&one, &trainer_one, train, dev, 1, 20, 20);
  mp::run_multi_process(2, &several, &trainer_several, train, dev, 1, 20, 10);
  EXPECT_GE(one.learner.saved, 1);
  EXPECT_GE(several.learner.saved, 1);
  EXPECT_EQ(mp::run_sp_minibatch_trainer(&one, &trainer_one, train).count, 40u);
  EXPECT_EQ(mp::run_mp_minibatch_trainer(2, &several, &trainer_several, train).count, 40u);
  float before = 0, after = 0;
  for (int i = 0; i < 50; ++i) {
    const Statistics sum = mp::run_mp_minibatch(2, &several, dev);
    trainer_several.update();
    EXPECT_EQ(sum.count, 4u);
    (i == 0 ? before : after) = sum.loss;
  }
  EXPECT_LT(after, 0.5f * before);
  const std::string text = written();
  EXPECT_TRUE(dynet_like::mentions(text, " of 4 (New best!)"));
}

TEST_F(CompatMpTest, StopsWhenItIsAsked) {
  Learner learner;
  SimpleSGDTrainer trainer(learner.model);
  mp::stop_requested = true;
  mp::run_multi_process(2, &learner, &trainer, train, dev, 1000000, 20, 0);
  mp::stop_requested = false;
  EXPECT_EQ(learner.saved, 0);
  EXPECT_EQ(mp::sum_values({1, 2}), 3);
  EXPECT_EQ(mp::mean({1, 2}), 1.5f);
  EXPECT_EQ(mp::elapsed_time_string({1, 0}, {2, 500000000}), "1.500 s");
}

}  // namespace
