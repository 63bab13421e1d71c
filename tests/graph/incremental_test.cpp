// Values asked for on the way: `compute`, repeated `forward`, inference that goes on, and passes
// after parameters have changed.
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

// A decoder: every step reads the states of the last one and has an output of its own.
class IncrementalTest : public ::testing::Test {
 protected:
  static constexpr unsigned kSamples = 6, kSteps = 9;

  struct Decoder {
    Decoder(const IncrementalTest& test, Minibatch& minibatch) : t(test), batch(minibatch) {
      for (unsigned i = 0; i < kSamples; ++i) {
        ComputationGraph& graph = batch.new_graph();
        states.push_back(t.cell.start(graph));
        // An encoder, so that there is something to be computed again.
        for (unsigned k = 0; k < 3; ++k) step(i, (i + k) % 10);
      }
    }
    Expression step(unsigned sample, unsigned word) {
      ComputationGraph& graph = batch.graph(sample);
      states[sample] = t.cell.step(states[sample], lookup(graph, t.table, word));
      return t.output(states[sample].h);
    }
    std::vector<Expression> step_all(unsigned word) {
      std::vector<Expression> outputs;
      for (unsigned i = 0; i < kSamples; ++i) outputs.push_back(step(i, (word + i) % 10));
      return outputs;
    }
    const IncrementalTest& t;
    Minibatch& batch;
    std::vector<nn::LSTM::State> states;
  };

  // The outputs of all steps, as one graph per sample computes them.
  std::vector<std::vector<float>> expected() const {
    Minibatch batch;
    Decoder decoder(*this, batch);
    std::vector<std::vector<float>> values;
    for (unsigned s = 0; s < kSteps; ++s) {
      for (const Expression& output : decoder.step_all(s)) {
        values.push_back(as_vector(output.value()));
      }
    }
    return values;
  }

  // The weights that the cell's first product reads.
  Parameter weights() { return Parameter(model.storages().at(0)); }

  ParameterCollection model;
  nn::LSTM cell{model, 8, 8};
  nn::Linear output{model, 8, 5};
  LookupParameter table = model.add_lookup_parameters(10, {8});
  Parameter w = model.add_parameters({8, 8});
};

TEST_F(IncrementalTest, ComputesExpressionsTogether) {
  const std::vector<std::vector<float>> want = expected();
  for (const bool inference : {false, true}) {
    for (unsigned threads = 1; threads <= 2; ++threads) {
      Minibatch batch({.threads = threads, .inference = inference});
      Decoder decoder(*this, batch);
      std::size_t at = 0;
      std::uint64_t batches = 0;
      for (unsigned s = 0; s < kSteps; ++s) {
        const std::vector<Expression> outputs = decoder.step_all(s);
        batch.compute(outputs);
        const Report report = batch.explain();
        const std::uint64_t new_batches = report.batches - batches;
        EXPECT_EQ(new_batches, s == 0 ? report.batches : 3);  // lookup, cell, output
        batches = report.batches;
        for (const Expression& e : outputs) EXPECT_EQ(as_vector(e.value()), want[at++]);
        EXPECT_EQ(batch.explain().batches, batches);
      }
      EXPECT_EQ(batch.explain().recomputed, 0u);
    }
  }
}

TEST_F(IncrementalTest, ForwardInTwoStepsIsForward) {
  Minibatch whole, halves;
  Decoder of_whole(*this, whole), of_halves(*this, halves);
  for (unsigned step = 0; step < 3; ++step) {
    for (unsigned i = 0; i < kSamples; ++i) {
      whole.add_loss(cross_entropy(of_whole.step(i, step), i % 5));
      halves.add_loss(cross_entropy(of_halves.step(i, step), i % 5));
    }
    // The losses of two starts may be read together, and after a backward pass.
    halves.start();
    if (step == 1) continue;
    const Parameter w = weights();
    const float loss = whole.forward();
    EXPECT_EQ(halves.backward().values(w), whole.backward().values(w));
    EXPECT_EQ(halves.loss(), loss);
    EXPECT_EQ(halves.loss(), loss);
  }
}

TEST_F(IncrementalTest, LossIsWhatStartHasComputed) {
  Minibatch batch;
  EXPECT_THROW(batch.loss(), UsageError);
  Decoder decoder(*this, batch);
  batch.add_loss(cross_entropy(decoder.step(0, 1), 0));
  EXPECT_THROW(batch.loss(), UsageError);
  const float expected = batch.forward();
  SimpleSGDTrainer trainer(model, 0.5f);
  batch.start();
  Gradients gradients;
  batch.backward(gradients);
  trainer.update(gradients);
  EXPECT_EQ(batch.loss(), expected) << "of the values before the update";
  batch.start();
  EXPECT_LT(batch.loss(), expected);
  batch.add_loss(cross_entropy(decoder.step(1, 2), 0));
  batch.start();
  trainer.update(batch.backward());
  batch.compute(std::span(&decoder.states[2].h, 1));  // forgets what followed from other parameters
  EXPECT_THROW(batch.loss(), StateError);
  batch.clear();
  EXPECT_THROW(batch.loss(), UsageError);
}

TEST_F(IncrementalTest, ALossThatWasRevertedIsRefused) {
  Minibatch batch;
  Decoder decoder(*this, batch);
  batch.graph(2).checkpoint();
  batch.add_loss(cross_entropy(decoder.step(2, 2), 2u));
  batch.forward();
  batch.graph(2).revert();
  expect_refused<StateError>("...reverted...", [&] { batch.forward(); });
}

// A checkpoint that was taken when more had run than is left says nothing about memory any more.
TEST_F(IncrementalTest, RevertsOfSeveralGraphsKeepTheValuesOfOthers) {
  Minibatch batch;
  const auto compute_three = [](Expression x) {
    for (unsigned i = 0; i < 3; ++i) {
      x = tanh(x);
      x.value();
    }
    return x;
  };
  const auto start = [&](std::size_t sample, unsigned size) {
    return input(batch.graph(sample), Dim({size}), std::vector<float>(size, 0.5f));
  };
  for (unsigned i = 0; i < 3; ++i) batch.new_graph();
  batch.graph(0).checkpoint();
  compute_three(start(0, 1));
  batch.graph(1).checkpoint();
  batch.graph(0).revert();
  const Expression kept = compute_three(start(2, 1000));  // where the first graph's values were
  const std::vector<float> before = as_vector(kept.value());
  start(1, 1000).value();
  batch.graph(1).revert();
  compute_three(start(1, 2000));
  EXPECT_EQ(as_vector(kept.value()), before);
}

TEST_F(IncrementalTest, InferenceThatGoesOnLearnsToKeepValues) {
  const std::vector<std::vector<float>> want = expected();
  Minibatch batch({.inference = true});
  for (unsigned round = 0; round < 3; ++round, batch.clear()) {
    Decoder decoder(*this, batch);
    std::size_t at = 0;
    std::uint64_t recomputed = 0;
    for (unsigned s = 0; s < kSteps; ++s) {
      const std::vector<Expression> outputs = decoder.step_all(s);
      for (const Expression& e : outputs) batch.add_output(e);
      batch.forward();
      for (const Expression& e : outputs) EXPECT_EQ(as_vector(e.value()), want[at++]);
      if (s == 1) recomputed = batch.explain().recomputed;
    }
    // What the first call had freed ran once more when the second one read it; nothing else.
    EXPECT_EQ(recomputed > 0, round == 0);
    EXPECT_EQ(batch.explain().recomputed, recomputed);
  }
}

TEST_F(IncrementalTest, InferenceKeepsNoLists) {
  std::uint64_t peak[2];
  for (const bool inference : {false, true}) {
    Minibatch batch({.inference = inference});
    Decoder decoder(*this, batch);
    for (unsigned s = 0; s < 100; ++s) batch.compute(decoder.step_all(s));
    const Report report = batch.explain();
    peak[inference] = report.peak_bytes - report.value_bytes;
  }
  EXPECT_LT(peak[1], peak[0] / 10);
}

TEST_F(IncrementalTest, BackwardNeedsTheParametersOfForward) {
  const auto refused = [&](const auto& pass) {
    const std::string message = message_of<StateError>(pass);
    EXPECT_TRUE(mentions(message, "/lstm"));
    EXPECT_TRUE(mentions(message, "call forward again"));
  };
  const Parameter changed = weights();
  Minibatch parts({.memory_limit = 10000});
  Decoder in_parts(*this, parts);
  for (const Expression& e : in_parts.step_all(0)) parts.add_loss(cross_entropy(e, 1u));
  parts.forward();
  EXPECT_GT(parts.parts(), 1u);
  Minibatch batch;
  Decoder decoder(*this, batch);
  for (const Expression& e : decoder.step_all(0)) batch.add_loss(cross_entropy(e, 1u));
  const float loss = batch.forward();
  changed.scale(0.5f);
  refused([&] { batch.backward(); });
  refused([&] { parts.backward(); });
  Gradients gradients;
  refused([&] { batch.backward(gradients); });
  changed.values().v[0] *= 1.5f;
  EXPECT_NE(batch.forward(), loss);
  const std::vector<float> gradient = batch.backward().values(changed);

  ComputationGraph graph;
  nn::LSTM::State state = cell.start(graph);
  const Expression alone = squared_norm(cell.step(state, lookup(graph, table, 1u)).h);
  alone.value();
  changed.scale(2.0f);
  refused([&] { graph.backward(alone); });
  graph.invalidate();
  EXPECT_NO_THROW(graph.backward(alone));
  changed.scale(0.5f);
  batch.forward();
  EXPECT_EQ(batch.backward().values(changed), gradient);
}

TEST_F(IncrementalTest, ParametersMayBeLookedAtBeforeBackward) {
  const Parameter looked_at = weights();
  const auto loss_of = [&](Minibatch& batch) {
    Decoder decoder(*this, batch);
    for (const Expression& e : decoder.step_all(0)) batch.add_loss(cross_entropy(e, 1u));
    return batch.forward();
  };
  for (unsigned round = 0; round < 2; ++round) {  // handed out the first time, and again
    Minibatch batch;
    loss_of(batch);
    const float* values = looked_at.values().v;
    table.values(3);
    table.all_values();
    EXPECT_NO_THROW(batch.backward());
    EXPECT_EQ(values[0], looked_at.values().v[0]);
    // Writing through what was handed out is seen.
    batch.clear();
    loss_of(batch);
    looked_at.values().v[1] += 1;
    EXPECT_THROW(batch.backward(), StateError);
  }
  Minibatch batch;
  loss_of(batch);
  table.initialize(2, std::vector<float>(8, 0.5f));
  EXPECT_THROW(batch.backward(), StateError);
  // So is writing later, where no version tells of it.
  float* const held = looked_at.values().v;
  const float loss = batch.forward();
  held[1] -= 1;
  EXPECT_THROW(batch.backward(), StateError);
  EXPECT_NE(batch.forward(), loss);
  EXPECT_NO_THROW(batch.backward());
}

TEST_F(IncrementalTest, ComputeRefusesWhatIsNotItsOwn) {
  Minibatch batch;
  ComputationGraph other;
  const Expression foreign = tanh(input(other, 1.0f));
  expect_refused<UsageError>("...[compute]...", [&] { batch.compute({foreign}); });
  batch.compute({});  // nothing to do
}

TEST_F(IncrementalTest, ForwardAddsWhatIsNew) {
  const auto loss = [](const Expression& scores, unsigned i) {
    return cross_entropy(scores, i % 5);
  };
  Minibatch at_once;
  Decoder whole(*this, at_once);
  for (unsigned s = 0; s < kSteps; ++s) {
    for (const Expression& scores : whole.step_all(s)) at_once.add_loss(loss(scores, s));
  }
  const float total = at_once.forward();
  const std::vector<float> gradient = at_once.backward().values(table, 3);

  Minibatch batch;
  Decoder decoder(*this, batch);
  float sum = 0;
  for (unsigned s = 0; s < kSteps; ++s) {
    for (const Expression& scores : decoder.step_all(s)) batch.add_loss(loss(scores, s));
    const float before = sum;
    sum = batch.forward();
    EXPECT_GT(sum, before);
  }
  EXPECT_EQ(sum, total);
  EXPECT_EQ(batch.forward(), total);
  EXPECT_EQ(batch.explain().nodes, at_once.explain().nodes);
  EXPECT_EQ(batch.backward().values(table, 3), gradient);
}

TEST_F(IncrementalTest, ForwardAfterARevertIsAboutWhatIsLeft) {
  Minibatch batch;
  Decoder decoder(*this, batch);
  batch.add_loss(cross_entropy(decoder.step(0, 1), 2u));
  const float first = batch.forward();
  batch.graph(1).checkpoint();
  batch.compute({decoder.step(1, 2)});
  batch.graph(1).revert();
  EXPECT_EQ(batch.forward(), first);
  EXPECT_NO_THROW(batch.backward());
  // A loss that is gone is refused, not forgotten.
  batch.graph(2).checkpoint();
  batch.add_loss(cross_entropy(decoder.step(2, 2), 2u));
  batch.forward();
  batch.graph(2).revert();
  expect_refused<StateError>("...reverted...", [&] { batch.forward(); });
}

TEST_F(IncrementalTest, BackwardIsOfTheLossesThatForwardReturned) {
  Minibatch batch;
  Decoder decoder(*this, batch);
  for (const Expression& e : decoder.step_all(0)) batch.add_loss(cross_entropy(e, 1u));
  batch.forward();
  batch.graph(0).invalidate();
  EXPECT_NO_THROW(batch.backward());
  weights().scale(0.5f);
  batch.graph(0).invalidate();
  EXPECT_THROW(batch.backward(), StateError);
  batch.forward();
  EXPECT_NO_THROW(batch.backward());
}

}  // namespace
}  // namespace dynet_like
