// Stacked and bidirectional LSTMs and GRUs: their composition by hand, dropout between layers,
// batches, errors.
#include "tests/support/layer_cases.h"
#include "tests/support/layers.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

constexpr unsigned kStackInputs = 4, kStackHidden = 5;

std::vector<Expression> some_inputs(ComputationGraph& graph, unsigned count) {
  return columns_of_matrix(drawn_matrix(graph, kStackInputs, count, 5));
}

std::vector<float> bits_of_list(const auto& list) {
  std::vector<float> bits;
  for (const Expression& x : list) testing::append(bits, x.value());
  return bits;
}

template <class Layer>
std::vector<Expression> outputs_of(const Layer& layer, const std::vector<Expression>& xs) {
  std::vector<Expression> outputs;
  for (const auto& state : layer(xs)) outputs.push_back(Layer::output(state));
  return outputs;
}

template <class Layer>
class StackedTest : public ::testing::Test {};
using StackedLayers = ::testing::Types<LSTM, GRU>;
TYPED_TEST_SUITE(StackedTest, StackedLayers);

// The same parameters in the same order have the same numbers.
TYPED_TEST(StackedTest, IsTheCompositionOfItsLayers) {
  ParameterCollection model(3), same(3);
  const Stacked<TypeParam> stacked(model, kStackInputs, kStackHidden,
                                   {.layers = 3, .name = "encoder"});
  EXPECT_EQ(stacked.layers(), 3u);
  EXPECT_EQ(stacked.hidden(), kStackHidden);
  EXPECT_NE(model.find("/encoder/layer_2/W"), nullptr);
  const TypeParam parts[] = {{same, kStackInputs, kStackHidden},
                             {same, kStackHidden, kStackHidden},
                             {same, kStackHidden, kStackHidden}};
  ComputationGraph graph;
  const std::vector<Expression> xs = some_inputs(graph, 6);
  const auto states = stacked(xs);
  ASSERT_EQ(states.size(), xs.size());
  auto step = stacked.start(graph);
  for (const Expression& x : xs) step = stacked.step(step, x);
  std::vector<Expression> inputs = xs;
  for (unsigned layer = 0; layer < 3; ++layer) {
    inputs = outputs_of(parts[layer], inputs);
    std::vector<Expression> got;
    for (const auto& state : states) got.push_back(TypeParam::output(state[layer]));
    EXPECT_EQ(bits_of_list(got), bits_of_list(inputs));
    EXPECT_EQ(as_vector(TypeParam::output(step[layer]).value()), as_vector(inputs.back().value()));
  }
  EXPECT_TRUE(stacked({}).empty());
  const Expression matrix = TypeParam::output(stacked(concatenate_cols(xs)).all());
  EXPECT_EQ(as_vector(matrix.value()), bits_of_list(inputs));
}

TYPED_TEST(StackedTest, BothDirectionsAreTwoLayersEach) {
  ParameterCollection model(3);
  const Bidirectional<TypeParam> both(model, kStackInputs, kStackHidden, {.layers = 2});
  EXPECT_EQ(both.hidden(), kStackHidden);
  EXPECT_EQ(both.outputs(), 2 * kStackHidden);
  ComputationGraph graph;
  for (const unsigned length : {1u, 2u, 5u}) {
    ParameterCollection same(3);
    const std::vector<Expression> xs = some_inputs(graph, length);
    std::vector<Expression> expected = xs;
    for (const unsigned inputs : {kStackInputs, 2 * kStackHidden}) {
      const TypeParam forward(same, inputs, kStackHidden), backward(same, inputs, kStackHidden);
      const std::vector<Expression> reversed(expected.rbegin(), expected.rend());
      const auto left = outputs_of(forward, expected), right = outputs_of(backward, reversed);
      for (unsigned i = 0; i < length; ++i) {
        expected[i] = concatenate({left[i], right[length - 1 - i]});
      }
    }
    EXPECT_EQ(bits_of_list(both(xs)), bits_of_list(expected));
    const Expression ends =
        concatenate({pick_range(expected.back(), 0, kStackHidden),
                     pick_range(expected.front(), kStackHidden, 2 * kStackHidden)});
    EXPECT_EQ(as_vector(both.final_states(xs).value()), as_vector(ends.value()));
    EXPECT_EQ(as_vector(both.final_states(concatenate_cols(xs)).value()), as_vector(ends.value()));
  }
  EXPECT_TRUE(both({}).empty());
  EXPECT_THROW(both.final_states({}), UsageError);
}

TYPED_TEST(StackedTest, DropoutIsBetweenLayersAndInTrainingOnly) {
  ParameterCollection model(3);
  const auto check = [&](const auto& one, const auto& two, const auto& results) {
    const auto bits = [&](const auto& layers, const GraphOptions& options) {
      ComputationGraph graph(options);
      return bits_of_list(results(layers, some_inputs(graph, 3)));
    };
    EXPECT_EQ(bits(one, {.seed = 1}), bits(one, {.inference = true}));
    EXPECT_NE(bits(two, {.seed = 1}), bits(two, {.inference = true}));
  };
  const StackOptions options = {.dropout = 0.5f}, twice = {.layers = 2, .dropout = 0.5f};
  const Stacked<TypeParam> stacked(model, kStackInputs, 50, options),
      two(model, kStackInputs, 50, twice);
  check(stacked, two, [](const auto& layers, const auto& xs) { return outputs_of(layers, xs); });
  const Bidirectional<TypeParam> both(model, kStackInputs, 50, options),
      four(model, kStackInputs, 50, twice);
  check(both, four, [](const auto& layers, const auto& xs) {
    std::vector<Expression> all = layers(xs);
    all.push_back(layers.final_states(xs));
    return all;
  });
  ComputationGraph training({.seed = 1}), inference({.inference = true});
  const auto lowest = [&](ComputationGraph& graph) {
    return as_vector(TypeParam::output(two(some_inputs(graph, 3)).back()[0]).value());
  };
  EXPECT_EQ(lowest(training), lowest(inference));
}

// Per layer, one batch for each of six steps of either direction and one for all concatenations;
// and the lookups and the zeros of the first states.
TEST(BidirectionalLSTMTest, SentencesOfAllLengthsBatch) {
  ParameterCollection model;
  const BidirectionalLSTM bilstm(model, 3, 4, {.layers = 2});
  const Embedding inputs(model, 6, 3);
  Minibatch minibatch;
  for (unsigned length = 1; length <= 6; ++length) {
    ComputationGraph& graph = minibatch.new_graph();
    std::vector<Expression> xs;
    for (unsigned i = 0; i < length; ++i) xs.push_back(inputs(graph, i));
    for (const Expression& h : bilstm(xs)) minibatch.add_output(h);
  }
  minibatch.forward();
  const Report report = minibatch.explain();
  EXPECT_EQ(report.batches, report.bound);
  EXPECT_EQ(report.batches, 2 * (2 * 6 + 1) + 2u);
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

TEST(OwnLayerTest, IsStackedAsOthersAre) {
  ParameterCollection model(3), same(3);
  const Stacked<SimpleLayer> stacked(model, kStackInputs, 5, {.layers = 2, .name = "own"});
  const Bidirectional<SimpleLayer> both(model, kStackInputs, 5, {.name = "both"});
  const SimpleLayer first(same, kStackInputs, 5, {.name = "a"}), second(same, 5, 5, {.name = "b"});
  ComputationGraph graph;
  const std::vector<Expression> xs = some_inputs(graph, 3);
  EXPECT_EQ(bits_of_list(outputs_of(stacked, xs)), bits_of_list(second(first(xs))));
  EXPECT_EQ(both.final_states(xs).dim(), Dim({10}));
}

TEST(StackedErrorsTest, SizesThatDoNotFit) {
  ParameterCollection model;
  EXPECT_THROW(StackedLSTM(model, 4, 5, {.layers = 0}), UsageError);
  EXPECT_THROW(StackedLSTM(model, 4, 0, {.layers = 2}), ShapeError);
  EXPECT_THROW(BidirectionalLSTM(model, 0, 3), ShapeError);
  EXPECT_THROW(BidirectionalLSTM(model, 3, 0), ShapeError);
  EXPECT_THROW(BidirectionalLSTM(model, 3, 3, {.layers = 0}), UsageError);
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
