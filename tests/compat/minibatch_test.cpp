// dynet::Minibatch: graphs of DyNet's that wait for each other's values, and run backward together.
#include <dynet/expr.h>
#include <dynet/gru.h>
#include <dynet/init.h>
#include <dynet/lstm.h>
#include <dynet/minibatch.h>
#include <dynet/training.h>

#include "dynet_like/core/errors.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet {
namespace {

using dynet_like::StateError;
using dynet_like::UsageError;

constexpr unsigned kWords = 7, kDim = 8;

// Reads what it chose before, as many times as the sample's number says.
struct Reader {
  LookupParameter words;
  Parameter output;
  GRUBuilder gru;

  explicit Reader(ParameterCollection& model)
      : words(model.add_lookup_parameters(kWords, {kDim})),
        output(model.add_parameters({kWords, kDim})),
        gru(1, kDim, kDim, model) {}

  struct Reading {
    std::vector<unsigned> chosen;
    std::vector<float> scores;
    Expression loss;
  };

  Reading read(ComputationGraph& cg, unsigned sample) {
    gru.new_graph(cg);
    gru.start_new_sequence();
    Reading reading;
    std::vector<Expression> losses;
    unsigned word = sample % kWords;
    for (unsigned step = 0; step < 1 + sample % 4; ++step) {
      const Expression h = gru.add_input(lookup(cg, words, word));
      const Expression scores = parameter(cg, output) * h;
      const std::vector<float> values =
          as_vector(step % 2 == 0 ? cg.incremental_forward(scores) : cg.forward(scores));
      word = static_cast<unsigned>(std::max_element(values.begin(), values.end()) - values.begin());
      reading.chosen.push_back(word);
      reading.scores.insert(reading.scores.end(), values.begin(), values.end());
      losses.push_back(pickneglogsoftmax(scores, (sample + step) % kWords));
    }
    reading.loss = sum(losses);
    return reading;
  }
};

struct Outcome {
  std::vector<std::vector<unsigned>> chosen;
  std::vector<std::vector<float>> scores;
  std::vector<float> losses, gradient, weights;

  void add(const Reader::Reading& reading) {
    chosen.push_back(reading.chosen);
    scores.push_back(reading.scores);
    losses.push_back(as_scalar(reading.loss.value()));
  }
  bool operator==(const Outcome&) const = default;
};

constexpr unsigned kSamples = 13;

Outcome train_one_by_one(unsigned steps) {
  reset_rng(1);
  ParameterCollection model;
  Reader reader(model);
  AdamTrainer trainer(model, 0.05f);
  Outcome outcome;
  for (unsigned step = 0; step < steps; ++step) {
    for (unsigned i = 0; i < kSamples; ++i) {
      ComputationGraph cg;
      const Reader::Reading reading = reader.read(cg, i);
      outcome.add(reading);
      cg.backward(reading.loss);
    }
    outcome.gradient = as_vector(*reader.output.gradients());
    trainer.update();
  }
  outcome.weights = as_vector(*reader.output.values());
  return outcome;
}

Outcome train_together(unsigned steps, const dynet_like::GraphOptions& options) {
  reset_rng(1);
  ParameterCollection model;
  Reader reader(model);
  AdamTrainer trainer(model, 0.05f);
  Minibatch batch(options);
  Outcome outcome;
  for (unsigned step = 0; step < steps; ++step, batch.clear()) {
    const auto readings =
        for_each_sample(batch, kSamples, [&](ComputationGraph& cg, std::size_t i) {
          return Reader(reader).read(cg, static_cast<unsigned>(i));
        });
    for (const Reader::Reading& reading : readings) batch.add_loss(reading.loss);
    batch.forward();
    for (const Reader::Reading& reading : readings) outcome.add(reading);
    batch.backward();
    outcome.gradient = as_vector(*reader.output.gradients());
    trainer.update();
  }
  outcome.weights = as_vector(*reader.output.values());
  return outcome;
}

TEST(CompatMinibatchTest, HasTheBitsOfOneGraphAfterTheOther) {
  const Outcome alone = train_one_by_one(4);
  EXPECT_FALSE(
      std::all_of(alone.gradient.begin(), alone.gradient.end(), [](float g) { return g == 0; }));
  for (const int autobatch : {0, 1, 2, 3}) {
    for (const unsigned threads : {1u, 3u}) {
      autobatch_flag = autobatch;
      dynet_like::GraphOptions options;
      options.threads = threads;
      EXPECT_EQ(train_together(4, options), alone) << autobatch << ' ' << threads;
    }
  }
  autobatch_flag = 1;
}

TEST(CompatMinibatchTest, MinibatchesAddUpUntilTheTrainerUpdates) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({1}, ParameterInitConst(2));
  SimpleSGDTrainer trainer(model, 1);
  trainer.clipping_enabled = false;
  Minibatch batch;
  for (unsigned pass = 1; pass <= 2; ++pass, batch.clear()) {
    std::vector<Expression> weights;
    for (unsigned i = 0; i < 3; ++i) {
      ComputationGraph& cg = batch.new_graph();
      weights.push_back(parameter(cg, w));
      batch.add_loss(weights.back() * 0.125f);
    }
    EXPECT_EQ(batch.forward(), 0.75f);
    batch.backward();
    EXPECT_EQ(as_scalar(*w.gradients()), 0.375f * static_cast<float>(pass));
    EXPECT_EQ(as_scalar(weights[1].gradient()), 0.375f * static_cast<float>(pass));
  }
  trainer.update();
  EXPECT_EQ(as_scalar(*w.values()), 1.25f);
  EXPECT_EQ(as_scalar(*w.gradients()), 0);
}

// What DyNet's graphs hand out is forgotten with what was recorded.
TEST(CompatMinibatchTest, AClearedGraphIsAnotherOne) {
  Minibatch batch;
  ComputationGraph* cg = &batch.new_graph();
  const unsigned id = cg->get_id();
  const Expression x = square(input(*cg, 3.0f));
  EXPECT_EQ(as_scalar(cg->get_value(x)), 9);
  EXPECT_EQ(cg->nodes.back()->name, "square");
  batch.clear();
  EXPECT_TRUE(x.is_stale());
  EXPECT_EQ(&batch.new_graph(), cg);
  EXPECT_NE(cg->get_id(), id);
  EXPECT_EQ(get_current_graph_id(), cg->get_id());
  EXPECT_TRUE(cg->nodes.empty());
  const Expression y = tanh(input(*cg, 0.0f));
  EXPECT_EQ(as_scalar(cg->get_value(y)), 0);
  EXPECT_EQ(cg->nodes.back()->name, "tanh");
  EXPECT_EQ(&batch.graph(0), cg);
}

TEST(CompatMinibatchTest, GraphsCountWhileTheyAreThere) {
  const int before = get_number_of_active_graphs();
  {
    Minibatch batch;
    batch.new_graph();
    batch.new_graph();
    EXPECT_EQ(get_number_of_active_graphs(), before + 2);
  }
  EXPECT_EQ(get_number_of_active_graphs(), before);
}

TEST(CompatMinibatchTest, InsideASampleNothingBelongsToOthers) {
  reset_rng(3);
  Minibatch batch;
  for_each_sample(batch, 4, [](ComputationGraph& cg, std::size_t i) {
    const Expression noise = random_normal(cg, Dim({kDim}));
    const std::vector<float> first = as_vector(cg.forward(noise));
    EXPECT_EQ(as_vector(cg.forward(noise)), first);  // not drawn anew: others may have used theirs
    EXPECT_THROW(cg.backward(sum_elems(noise)), UsageError);
    EXPECT_THROW(cg.clear(), UsageError);
    cg.checkpoint();
    const Expression tried = square(input(cg, static_cast<float>(i)));
    EXPECT_EQ(as_scalar(cg.get_value(tried)), static_cast<float>(i * i));
    cg.revert();
    EXPECT_THROW(cg.get_value(tried), StateError);
    EXPECT_EQ(as_vector(cg.get_value(noise)), first);
  });
}

TEST(CompatMinibatchTest, AGraphThatIsRecordedBesideOthersDrawsNothing) {
  Minibatch batch;
  batch.add_losses(2, [](ComputationGraph& cg, std::size_t) {
    const Expression x = square(input(cg, 2.0f));
    EXPECT_THROW(cg.forward(x), UsageError);
    return x;
  });
  EXPECT_EQ(batch.forward(), 8);
}

TEST(CompatMinibatchTest, ArrivingSamplesUseGraphsAgain) {
  dynet_like::GraphOptions options;
  options.inference = true;
  Minibatch batch(options);
  std::vector<float> seen(20);
  std::set<unsigned> ids;
  unsigned next = 0;
  for_each_arriving(
      batch, 3,
      [&](bool) { return next < seen.size() ? std::optional<unsigned>(next++) : std::nullopt; },
      [&](ComputationGraph& cg, unsigned sample) {
        ids.insert(cg.get_id());
        EXPECT_TRUE(cg.nodes.empty());
        Expression x = input(cg, static_cast<float>(sample));
        for (unsigned step = 0; step <= sample % 3; ++step) {
          x = x + 1;
          seen[sample] = as_scalar(cg.get_value(x));
        }
      });
  for (unsigned i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<float>(i + 1 + i % 3));
  EXPECT_EQ(ids.size(), seen.size());
}

TEST(CompatMinibatchTest, ItsWorkIsInTheProfileOnce) {
  profiling_flag = 1;
  testing::internal::CaptureStderr();
  {
    Minibatch batch;
    for_each_sample(batch, 5, [](ComputationGraph& cg, std::size_t) {
      return as_scalar(cg.get_value(square(input(cg, 2.0f))));
    });
  }
  profiling_flag = 0;
  cleanup();
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(dynet_like::mentions(text, "profile of 1 graph"));
  EXPECT_TRUE(dynet_like::mentions(text, "square                             5           1"));
}

TEST(CompatMinibatchTest, AnotherMinibatchIsNoneOfDyNets) {
  dynet_like::Minibatch batch;
  EXPECT_THROW(for_each_sample(batch, 1, [](ComputationGraph& cg, std::size_t) { cg.get_id(); }),
               UsageError);
}

}  // namespace
}  // namespace dynet
