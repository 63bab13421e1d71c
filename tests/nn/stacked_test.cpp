// Stacked LSTMs and GRUs: the composition by hand, dropout between layers, gradients, errors.
#include "nn/stacked.h"

#include <gtest/gtest.h>

#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/nn.h"
#include "tests/support/layers.h"

namespace dynet_like::nn {
namespace {

std::vector<Expression> some_inputs(ComputationGraph& graph, unsigned count, unsigned size) {
  std::vector<Expression> xs;
  Random random(5);
  for (unsigned i = 0; i < count; ++i) {
    std::vector<float> values(size);
    for (float& value : values) value = static_cast<float>(random.normal());
    xs.push_back(input(graph, {size}, values));
  }
  return xs;
}

TEST(StackedLSTMTest, IsTheCompositionOfItsLayers) {
  // The same parameters in the same order have the same numbers.
  ParameterCollection model(3), same(3);
  const StackedLSTM stacked(model, 4, 5, {.layers = 3});
  const LSTM first(same, 4, 5), second(same, 5, 5), third(same, 5, 5);
  ComputationGraph graph;
  const std::vector<Expression> xs = some_inputs(graph, 6, 4);
  const std::vector<StackedLSTM::State> states = stacked(xs);
  ASSERT_EQ(states.size(), xs.size());
  std::vector<Expression> inputs = xs;
  std::size_t layer = 0;
  for (const LSTM* lstm : {&first, &second, &third}) {
    const std::vector<LSTM::State> expected = (*lstm)(inputs);
    for (std::size_t i = 0; i < xs.size(); ++i) {
      EXPECT_EQ(as_vector(states[i][layer].h.value()), as_vector(expected[i].h.value()));
      EXPECT_EQ(as_vector(states[i][layer].c.value()), as_vector(expected[i].c.value()));
      inputs[i] = expected[i].h;
    }
    ++layer;
  }
}

TEST(StackedLSTMTest, ReadsMatrices) {
  ParameterCollection model(3);
  const StackedLSTM stacked(model, 4, 5, {.layers = 3, .dropout = 0.5f});
  ComputationGraph graph({.inference = true});
  const std::vector<Expression> xs = some_inputs(graph, 6, 4);
  const States<CellState> states = stacked(concatenate_cols(xs));
  const std::vector<StackedLSTM::State> expected = stacked(xs);
  for (unsigned i = 0; i < xs.size(); ++i) {
    EXPECT_EQ(as_vector(states[i].c.value()), as_vector(expected[i].back().c.value()));
  }
}

TEST(StackedLSTMTest, StepsAreTheSequence) {
  ParameterCollection model(3);
  const StackedLSTM lstm(model, 4, 5, {.layers = 2, .name = "encoder"});
  EXPECT_EQ(lstm.layers(), 2u);
  EXPECT_EQ(lstm.hidden(), 5u);
  EXPECT_NE(model.find("/encoder/layer_1/W"), nullptr);
  ComputationGraph graph;
  const std::vector<Expression> xs = some_inputs(graph, 3, 4);
  StackedLSTM::State state = lstm.start(graph);
  ASSERT_EQ(state.size(), 2u);
  EXPECT_EQ(as_vector(state[1].c.value()), std::vector<float>(5));
  for (const Expression& x : xs) state = lstm.step(state, x);
  EXPECT_EQ(state[1].h.dim(), Dim({5}));
  EXPECT_EQ(as_vector(state[1].h.value()), as_vector(lstm(xs).back()[1].h.value()));
  EXPECT_TRUE(lstm({}).empty());
}

TEST(StackedGRUTest, IsTheCompositionOfItsLayers) {
  ParameterCollection model(3), same(3);
  const StackedGRU stacked(model, 4, 5, {.layers = 2});
  EXPECT_NE(model.find("/stacked_gru/layer_1/b_h"), nullptr);
  const GRU first(same, 4, 5), second(same, 5, 5);
  ComputationGraph graph;
  const std::vector<Expression> xs = some_inputs(graph, 6, 4);
  const std::vector<StackedGRU::State> states = stacked(xs);
  const std::vector<Expression> below = first(xs), expected = second(below);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    EXPECT_EQ(as_vector(states[i][0].value()), as_vector(below[i].value()));
    EXPECT_EQ(as_vector(StackedGRU::output(states[i]).value()), as_vector(expected[i].value()));
  }
}

/// A recurrent network of a program's own (Elman 1990).
class SimpleLayer {
 public:
  using State = Expression;
  static constexpr const char* kName = "simple";

  SimpleLayer(ParameterCollection& model, unsigned inputs, unsigned hidden,
              const LayerOptions& options)
      : hidden_(hidden), map_(model, inputs + hidden, hidden, {.name = options.name}) {}
  State start(ComputationGraph& graph) const { return zeros(graph, {hidden_}); }
  State step(const State& before, const Expression& x) const {
    return tanh(map_(concatenate({x, before})));
  }
  std::vector<State> operator()(std::span<const Expression> xs) const {
    std::vector<State> states;
    for (const Expression& x : xs) {
      states.push_back(step(states.empty() ? start(*x.pg) : states.back(), x));
    }
    return states;
  }
  static const Expression& output(const State& state) { return state; }
  unsigned hidden() const { return hidden_; }

 private:
  unsigned hidden_;
  Linear map_;
};

TEST(StackedTest, LayersOfAProgramsOwn) {
  ParameterCollection model(3), same(3);
  const Stacked<SimpleLayer> stacked(model, 4, 5, {.layers = 2, .name = "own"});
  EXPECT_NE(model.find("/own/layer_1/W"), nullptr);
  const Bidirectional<SimpleLayer> both(model, 4, 5, {.name = "both"});
  const SimpleLayer first(same, 4, 5, {.name = "a"}), second(same, 5, 5, {.name = "b"});
  ComputationGraph graph;
  const std::vector<Expression> xs = some_inputs(graph, 3, 4), expected = second(first(xs));
  EXPECT_EQ(as_vector(stacked(xs).back().back().value()), as_vector(expected.back().value()));
  EXPECT_EQ(both.final_states(xs).dim(), Dim({10}));
}

TEST(StackedLSTMTest, DropoutIsBetweenLayersAndInTrainingOnly) {
  ParameterCollection model(3);
  const StackedLSTM lstm(model, 4, 50, {.layers = 2, .dropout = 0.5f, .name = "lstm"}),
      one(model, 4, 50, {.dropout = 0.5f, .name = "one"});
  ComputationGraph training({.seed = 1}), inference({.inference = true});
  const auto state = [&](const StackedLSTM& stacked, ComputationGraph& graph, unsigned layer) {
    return as_vector(stacked(some_inputs(graph, 2, 4)).back()[layer].h.value());
  };
  EXPECT_NE(state(lstm, training, 1), state(lstm, inference, 1));
  EXPECT_EQ(state(lstm, inference, 1), state(lstm, inference, 1));
  EXPECT_EQ(state(one, training, 0), state(one, inference, 0));    // nothing lies between
  EXPECT_EQ(state(lstm, training, 0), state(lstm, inference, 0));  // nor below the lower layer
}

TEST(StackedLSTMTest, ErrorsSayWhatIsNeeded) {
  ParameterCollection model;
  EXPECT_THROW(StackedLSTM(model, 4, 5, {.layers = 0}), UsageError);
  EXPECT_THROW(StackedLSTM(model, 4, 0, {.layers = 2}), ShapeError);
  const StackedLSTM lstm(model, 4, 5, {.layers = 2}),
      all_dropped(model, 4, 5, {.layers = 2, .dropout = 1});
  ComputationGraph graph;
  StackedLSTM::State state = lstm.start(graph);
  EXPECT_THROW(all_dropped.step(state, zeros(graph, {4})), UsageError);
  EXPECT_THROW(lstm.step(state, zeros(graph, {3})), ShapeError);
  state.pop_back();
  EXPECT_THROW(lstm.step(state, zeros(graph, {4})), UsageError);
}

}  // namespace
}  // namespace dynet_like::nn
