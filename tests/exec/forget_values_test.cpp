// ComputationGraph::forget_values: memory that later values get, and values that are computed
// again.
#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"

namespace dynet_like {
namespace {

class ForgetValuesTest : public ::testing::Test {
 protected:
  static GraphOptions options(bool inference, unsigned threads = 1) {
    return {.threads = threads, .inference = inference};
  }

  // Steps of a sample, each of which forgets what the one before it has recorded; what they end
  // with, and the first step's value, asked for once more.
  std::vector<float> run(ComputationGraph& graph, std::size_t sample, unsigned steps) {
    nn::LSTM::State state = lstm.step(lstm.start(graph), lookup(graph, words, 0u));
    const Expression first = state.h;
    std::size_t last_step = graph.size(), this_step = last_step;
    for (unsigned i = 0; i < steps + sample; ++i) {
      const auto word = static_cast<unsigned>(argmax(state.h.value()) + sample) % 10;
      graph.forget_values(last_step, this_step);
      last_step = std::exchange(this_step, graph.size());
      state = lstm.step(state, lookup(graph, words, word));
    }
    std::vector<float> numbers = as_vector(state.c.value());
    for (const float x : as_vector(first.value())) numbers.push_back(x);
    return numbers;
  }

  std::uint64_t peak_of(const GraphOptions& options, unsigned steps) {
    Minibatch batch(options);
    for_each_sample(batch, 6,
                    [&](ComputationGraph& graph, std::size_t i) { run(graph, i, steps); });
    return batch.explain().peak_bytes;
  }

  ParameterCollection model{3};
  LookupParameter words = model.add_lookup_parameters(10, {24});
  nn::LSTM lstm{model, 24, 24};
};

TEST_F(ForgetValuesTest, OnlyThoseThatAreNamed) {
  ComputationGraph graph(options(true));
  const Expression x = tanh(lookup(graph, words, 3u));
  const std::size_t first = graph.size();
  const Expression y = tanh(x), z = tanh(y);
  const auto computed = [&] {
    std::uint64_t nodes = 0;
    for (const Report::Type& type : graph.explain().types) {
      if (type.op == "tanh") nodes += type.nodes;
    }
    return nodes;
  };
  values_of({x, y, z});
  graph.forget_values(first, first + 1);  // y
  x.value();
  z.value();
  EXPECT_EQ(computed(), 3u);
  y.value();
  EXPECT_EQ(computed(), 4u);
  EXPECT_NO_THROW(graph.forget_values(first, first + 100));
}

TEST_F(ForgetValuesTest, LongSamplesNeedTheMemoryOfShortOnes) {
  EXPECT_LT(peak_of(options(true), 400), 1.2 * static_cast<double>(peak_of(options(true), 20)));
  // Training needs all of it.
  EXPECT_GT(peak_of(options(false), 400), 5 * peak_of(options(false), 20));
}

TEST_F(ForgetValuesTest, TheSameBesideOthers) {
  std::vector<std::vector<float>> alone;
  for (std::size_t i = 0; i < 9; ++i) {
    ComputationGraph graph;
    alone.push_back(run(graph, i, 7));
  }
  for (const unsigned threads : {1u, 3u}) {
    for (const bool inference : {false, true}) {
      Minibatch batch(options(inference, threads));
      const auto together = for_each_sample(
          batch, 9, [&](ComputationGraph& graph, std::size_t i) { return run(graph, i, 7); });
      EXPECT_EQ(together, alone);
    }
  }
}

// Few of many that ran together are left: they keep their bits, and take the room of few.
TEST_F(ForgetValuesTest, FewThatAreLeftTakeLittleMemory) {
  const std::size_t kSamples = runs_slowly() ? 250 : 1000, kRounds = 60;
  const auto record = [&](ComputationGraph& graph, unsigned word) {
    const nn::LSTM::State one = lstm.step(lstm.start(graph), lookup(graph, words, word));
    return tanh(lstm.step(one, lookup(graph, words, word / 2)).c) + one.h;
  };
  std::vector<std::vector<float>> alone;
  for (unsigned word = 0; word < 10; ++word) {
    ComputationGraph graph;
    alone.push_back(as_vector(record(graph, word).value()));
  }
  Minibatch batch(options(true));
  Random random(5);
  std::vector<ComputationGraph*> graphs;
  for (std::size_t i = 0; i < kSamples; ++i) graphs.push_back(&batch.new_graph());
  std::vector<std::pair<Expression, unsigned>> kept;
  for (std::size_t round = 0; round < kRounds; ++round) {
    std::vector<Expression> all;
    std::vector<std::size_t> first;
    std::vector<unsigned> read;
    for (ComputationGraph* graph : graphs) {
      first.push_back(graph->size());
      read.push_back(static_cast<unsigned>(random.below(10)));
      all.push_back(record(*graph, read.back()));
    }
    batch.compute(all);
    for (std::size_t i = 0; i < kSamples; ++i) {
      const bool stays = random.below(20) == 0;  // the last node alone
      if (stays) kept.emplace_back(all[i], read[i]);
      graphs[i]->forget_values(first[i], graphs[i]->size() - (stays ? 1 : 0));
    }
  }
  // One value of each would be that much, and there are ten; a twentieth of one is kept.
  const double one_of_each = kSamples * kRounds * 24 * sizeof(float);
  EXPECT_LT(static_cast<double>(batch.explain().peak_bytes), 0.5 * one_of_each);
  for (const auto& [e, word] : kept) EXPECT_EQ(as_vector(e.value()), alone[word]);
}

// What the user has a tensor of stays where it is.
TEST_F(ForgetValuesTest, TensorsOfTheUserDoNotMove) {
  Minibatch batch(options(true));
  std::vector<Expression> all;
  for (unsigned i = 0; i < 200; ++i) {
    all.push_back(tanh(lookup(batch.new_graph(), words, i % 10)));
  }
  batch.compute(all);  // all in one block
  const Tensor last = all.back().value();
  const std::vector<float> before = as_vector(last);
  for (unsigned i = 0; i + 1 < 200; ++i) {
    const ComputationGraph& graph = all[i].graph("test");
    const_cast<ComputationGraph&>(graph).forget_values(0, graph.size());
  }
  EXPECT_EQ(all.back().value().v, last.v);
  EXPECT_EQ(as_vector(last), before);
}

}  // namespace
}  // namespace dynet_like
