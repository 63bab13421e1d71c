// Stacks that recurrent layers read: against reading what is on them anew, as values, in batches.
#include "tests/support/layers.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

Expression drawn(ComputationGraph& graph, Random& random, unsigned size) {
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(random.normal());
  return input(graph, {size}, values);
}

template <class Recurrent>
void expect_content(const Recurrent& recurrent, ComputationGraph& graph,
                    const StackState<Recurrent>& stack, const std::vector<Expression>& content) {
  ASSERT_EQ(stack.size(), content.size());
  EXPECT_EQ(stack.empty(), content.empty());
  typename Recurrent::State state = recurrent.start(graph);
  for (const Expression& x : content) state = recurrent.step(state, x);
  EXPECT_EQ(as_vector(stack.top().value()), as_vector(Recurrent::output(state).value()));
}

/// Pushes and pops, now and then on a copy, which leaves the other as it was.
template <class Recurrent>
void check_against_reading_anew(const Recurrent& recurrent) {
  ComputationGraph graph;
  Random random(3);
  struct Kept {
    StackState<Recurrent> stack;
    std::vector<Expression> content;
  };
  std::vector<Kept> all = {{{recurrent, recurrent.start(graph)}, {}}};
  for (int i = 0; i < 60; ++i) {
    if (random.below(4) == 0) all.push_back(all[random.below(unsigned(all.size()))]);
    auto& [stack, content] = all[random.below(unsigned(all.size()))];
    if (content.empty() || random.below(5) < 3) {
      content.push_back(drawn(graph, random, 4));
      stack.push(content.back());
    } else {
      EXPECT_EQ(stack.pop().i, content.back().i);
      content.pop_back();
    }
  }
  EXPECT_GT(all.size(), 5u);
  for (const auto& [stack, content] : all) expect_content(recurrent, graph, stack, content);
}

TEST(StackStateTest, IsWhatTheLayerSaysOfItsContent) {
  ParameterCollection model(1);
  check_against_reading_anew(LSTM(model, 4, 5));
  check_against_reading_anew(GRU(model, 4, 5));
  check_against_reading_anew(StackedLSTM(model, 4, 5, {.layers = 2}));
  check_against_reading_anew(StackedGRU(model, 4, 5, {.layers = 3}));
}

TEST(StackStateTest, BeginsWithAnyState) {
  ParameterCollection model(1);
  const LSTM lstm(model, 4, 5);
  ComputationGraph graph;
  Random random(2);
  const Expression empty = drawn(graph, random, 4), x = drawn(graph, random, 4);
  StackState stack(lstm, lstm.step(lstm.start(graph), empty));
  EXPECT_TRUE(stack.empty());
  stack.push(x);
  const std::vector<Expression> both = {empty, x};
  EXPECT_EQ(as_vector(stack.top().value()), as_vector(lstm(both).back().h.value()));
  EXPECT_EQ(as_vector(stack.state().c.value()), as_vector(lstm(both).back().c.value()));
}

/// Pops where the value says so, and returns all values.
std::vector<float> follow(const LSTM& lstm, ComputationGraph& graph, std::size_t sample) {
  Random random(sample);
  StackState stack(lstm, lstm.start(graph));
  std::vector<float> all;
  for (unsigned i = 0; i < 12 + sample % 5; ++i) {
    stack.push(drawn(graph, random, 4));
    testing::append(all, stack.top().value());
    while (!stack.empty() && as_vector(stack.top().value())[0] > 0.1f) stack.pop();
    all.push_back(static_cast<float>(stack.size()));
  }
  return all;
}

TEST(StackStateTest, SamplesThatDecideHaveTheBitsThatTheyHaveAlone) {
  ParameterCollection model(1);
  const LSTM lstm(model, 4, 5);
  std::vector<std::vector<float>> alone;
  bool has_popped = false;
  for (std::size_t i = 0; i < 20; ++i) {
    ComputationGraph graph;
    alone.push_back(follow(lstm, graph, i));
    has_popped |= alone.back().back() < static_cast<float>(12 + i % 5);
  }
  EXPECT_TRUE(has_popped);
  for (const unsigned threads : {1u, 2u}) {
    Minibatch batch({.threads = threads});
    EXPECT_EQ(for_each_sample(
                  batch, std::size_t{20},
                  [&](ComputationGraph& graph, std::size_t i) { return follow(lstm, graph, i); }),
              alone);
  }
}

/// Counts, and records nothing.
struct CountingLayer {
  struct State {
    Expression output;
    std::size_t steps = 0;
  };
  static State step(const State& before, const Expression& x) { return {x, before.steps + 1}; }
  static const Expression& output(const State& state) { return state.output; }
};

TEST(StackStateTest, HighStacksNeedNoHighCallStack) {
  const CountingLayer layer;
  constexpr std::size_t kHigh = 1000000;
  StackState<CountingLayer> stack(layer, {});
  for (std::size_t i = 0; i < kHigh; ++i) stack.push({});
  StackState<CountingLayer> copy = stack;
  EXPECT_EQ(copy.state().steps, kHigh);
  copy.push({});
  stack = StackState<CountingLayer>(layer, {});
  EXPECT_EQ(copy.size(), kHigh + 1);
  copy = stack;  // frees all
  EXPECT_TRUE(copy.empty());
}

TEST(StackStateTest, RefusesToPopNothingAndWhatDoesNotFit) {
  ParameterCollection model(1);
  const LSTM lstm(model, 4, 5);
  ComputationGraph graph;
  Random random(1);
  StackState stack(lstm, lstm.start(graph));
  EXPECT_THROW(stack.pop(), UsageError);
  EXPECT_THROW(stack.push(drawn(graph, random, 3)), ShapeError);
  EXPECT_TRUE(stack.empty());
  EXPECT_EQ(as_vector(stack.top().value()), std::vector<float>(5));
}

}  // namespace
}  // namespace dynet_like::nn
