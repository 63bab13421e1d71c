// MemoryNeeds: whatever runs takes no more than the bound.
#include "dynet_like/graph/memory_needs.h"
#include "tests/support/precompiled.h"
#include "tests/support/random_chains.h"
#include "tests/support/slow_build.h"

namespace dynet_like::testing {
namespace {

// Steps of cells and layers one by one, in many small batches, so that products run early; and the
// same as recursions.
struct Layers {
  Layers(unsigned inputs, unsigned hidden_size)
      : hidden(hidden_size),
        words(model, 10, inputs),
        lstm(model, inputs, hidden),
        gru(model, inputs, hidden),
        linear(model, inputs, hidden),
        output(model, hidden, 5) {}

  Expression loss(ComputationGraph& graph, std::uint64_t program, std::uint64_t sample) const {
    Random random(program, sample);
    const unsigned steps = 1 + random.below(program % 3 == 0 ? 4 : 40);
    std::vector<unsigned> ids(steps);
    for (unsigned& id : ids) id = random.below(10);
    const Expression x = words.columns(graph, ids);
    const unsigned kinds = 1 + program % 63;  // a bit for each part of the program
    std::vector<Expression> all;
    if ((kinds & 1) != 0) {
      Expression h = zeros(graph, {hidden});
      for (unsigned i = 0; i < steps; ++i) all.push_back(h = gru.step(h, pick(x, i, 1)));
    }
    if ((kinds & 2) != 0) {
      nn::LSTM::State state = lstm.start(graph);
      for (unsigned i = 0; i < steps; ++i) state = lstm.step(state, words(graph, ids[i]));
      all.push_back(state.h);
    }
    if ((kinds & 4) != 0) all.push_back(pick(lstm(x).all().h, steps - 1, 1));
    if ((kinds & 8) != 0) all.push_back(pick(gru(x).all(), steps - 1, 1));
    if ((kinds & 16) != 0) {
      for (unsigned i = 0; i < steps; ++i) all.push_back(tanh(linear(words(graph, ids[i]))));
    }
    if (all.empty() || (kinds & 32) != 0) {
      all.push_back(sum_batches(relu(linear(lookup(graph, words.table(), ids)))));
    }
    return cross_entropy(output(sum(all)), random.below(5));
  }

  unsigned hidden;
  ParameterCollection model{3};
  nn::Embedding words;
  nn::LSTM lstm;
  nn::GRU gru;
  nn::Linear linear, output;
};

using Record = std::function<Expression(ComputationGraph& graph, std::uint64_t sample)>;

void expect_bound(const Record& record, std::uint64_t program, unsigned samples) {
  GraphOptions options{.policy = static_cast<batching::Policy>(program % 5),
                       .threads = static_cast<unsigned>(1 + program / 5 % 3)};
  options.inference = program % 4 == 3;
  options.seed = 1;
  Minibatch batch(options);
  detail::MemoryNeeds needs(options);
  for (unsigned i = 0; i < samples; ++i) {
    ComputationGraph& graph = batch.new_graph();
    batch.add_loss(record(graph, i));
    needs.add(graph.record().tape());
  }
  batch.forward();
  if (!options.inference) batch.backward();
  EXPECT_LE(batch.explain().peak_bytes, needs.bytes())
      << batching::name_of(options.policy) << ", " << options.threads << " threads, "
      << (options.inference ? "inference" : "training");
}

std::uint64_t programs() { return runs_slowly() ? 60 : 1200; }

TEST(MemoryNeedsTest, BoundLayersStepByStep) {
  for (std::uint64_t program = 0; program < programs(); ++program) {
    const Layers layers(1 + program % 37, 1 + program % 23);
    expect_bound([&](auto& graph, auto sample) { return layers.loss(graph, program, sample); },
                 program, 1 + program % 11);
    ASSERT_FALSE(HasFailure()) << "program " << program;
  }
}

TEST(MemoryNeedsTest, BoundRandomGraphs) {
  const RandomModel model;
  for (std::uint64_t program = 0; program < programs() / 4; ++program) {
    const RandomGraphOptions graphs{.nodes = 10 + static_cast<unsigned>(program * 7 % 150)};
    expect_bound(
        [&](auto& graph, auto sample) {
          return record_random_graph(graph, model, 100 * program + sample, graphs).loss;
        },
        program, 1 + program % 7);
    ASSERT_FALSE(HasFailure()) << "program " << program;
  }
}

TEST(MemoryNeedsTest, BoundRandomRecursions) {
  const RandomModel model;
  for (std::uint64_t program = 0; program < programs() / 8; ++program) {
    const RandomChainsOptions chains{.steps = 1 + static_cast<unsigned>(program % 3)};
    expect_bound(
        [&](auto& graph, auto sample) {
          return record_random_chains(graph, model, program, 100 * program + sample, chains).loss;
        },
        program, 1 + program % 7);
    ASSERT_FALSE(HasFailure()) << "program " << program;
  }
}

// Every minibatch element adds to the gradient of a value that all of them read.
TEST(MemoryNeedsTest, BoundSlotsOfAValueForAllElements) {
  constexpr unsigned kElements = 50, kSize = 100;
  ParameterCollection model;
  const LookupParameter table = model.add_lookup_parameters(2, {kSize}),
                        scales = model.add_lookup_parameters(2, {1});
  const auto record = [&](ComputationGraph& graph, std::uint64_t) {
    const Expression x = tanh(lookup(graph, table, 0u));
    const Expression many = lookup(graph, scales, std::vector<unsigned>(kElements, 1));
    return sum_batches(dot_product(x, cmult(x * 0.5f, many)));
  };
  expect_bound(record, 0, 3);
}

}  // namespace
}  // namespace dynet_like::testing
