// TransformerDecoder: its parts, a whole target against single steps, beams, gradients, batches.
#include "tests/support/layers.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

/// The states after every column of a target.
std::vector<TransformerDecoder::State> states_of(const TransformerDecoder& decoder,
                                                 const Expression& x, const Expression& source) {
  std::vector<TransformerDecoder::State> states = {decoder.start(source)};
  for (unsigned i = 0; i < x.dim().cols(); ++i) {
    states.push_back(decoder.step(states.back(), pick(x, i, 1)));
  }
  return states;
}

class TransformerDecoderTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(NormFirst, TransformerDecoderTest, ::testing::Bool());

/// As the paper writes it, with the parameters of the layer.
TEST_P(TransformerDecoderTest, IsTheCompositionOfItsParts) {
  const bool norm_first = GetParam();
  ParameterCollection model(3), parts(3);
  const TransformerDecoderLayer layer(
      model, {.size = 4, .hidden = 6, .heads = 2, .activation = gelu, .norm_first = norm_first});
  ParameterCollection own = parts.add_subcollection("layer");
  const MultiHeadAttention attention(own, 4, {.heads = 2, .causal = true});
  const LayerNorm attention_norm(own, 4, {.name = "attention_norm"});
  const MultiHeadAttention to_source(own, 4, {.heads = 2, .name = "source_attention"});
  const LayerNorm source_norm(own, 4, {.name = "source_norm"});
  const MLP network(own, 4, {6, 4}, {.activation = gelu, .name = "network"});
  const LayerNorm network_norm(own, 4, {.name = "network_norm"});
  randomise(model, 4);
  for (const auto& storage : model.storages()) {
    Parameter(parts.find(storage->name)).set_value(as_vector(storage->tensor()));
  }
  ComputationGraph graph;
  const Expression x = drawn_matrix(graph, 4, 3, 1), source = drawn_matrix(graph, 4, 5, 2);
  const AttentionMemory memory = to_source.read(source);
  Expression expected;
  if (norm_first) {
    const Expression y = x + attention(attention_norm(x));
    const Expression z = y + to_source(memory, source_norm(y));
    expected = z + network(network_norm(z));
  } else {
    const Expression y = attention_norm(x + attention(x));
    const Expression z = source_norm(y + to_source(memory, y));
    expected = network_norm(z + network(z));
  }
  EXPECT_EQ(as_vector(layer(x, source).value()), as_vector(expected.value()));
}

// The same bits, whether keys and values of a column are computed with all others or kept.
TEST_P(TransformerDecoderTest, StepsHaveTheBitsOfAWholeTarget) {
  for (const unsigned size : {4u, 8u, 16u, 48u}) {
    ParameterCollection model;
    const TransformerDecoder decoder(
        model,
        {.size = size, .hidden = 2 * size, .heads = 2, .layers = 2, .norm_first = GetParam()});
    randomise(model, 7);
    ComputationGraph graph;
    const Expression x = drawn_matrix(graph, size, 21, 1), source = drawn_matrix(graph, size, 6, 2);
    const Expression whole = decoder(x, source);
    const auto states = states_of(decoder, x, source);
    EXPECT_EQ(states[0].length(), 0u);
    for (unsigned i = 0; i < 21; ++i) {
      EXPECT_EQ(states[i + 1].length(), i + 1);
      EXPECT_EQ(states[i + 1].h.dim(), Dim({size}));
      EXPECT_EQ(as_vector(states[i + 1].h.value()), as_vector(pick(whole, i, 1).value()))
          << size << ", column " << i;
    }
  }
}

/// A decoder over symbols, one hypothesis at a time or all of a beam at once.
struct Writer {
  static constexpr unsigned kSymbols = 7, kSize = 8;

  ParameterCollection model{3};
  Embedding symbols{model, kSymbols, kSize, {.init = ParameterInitNormal()}};
  SinusoidalPositions positions{30, kSize};
  TransformerDecoder decoder{model, {.size = kSize, .hidden = 12, .heads = 2, .layers = 2}};
  Linear output{model, kSize, kSymbols};

  TransformerDecoder::State start(ComputationGraph& graph, unsigned sample) const {
    const Expression source = drawn_matrix(graph, kSize, 2 + sample, 9 + sample);
    return decoder.step(decoder.start(source), positions(symbols(graph, 0)));
  }
  Steps<TransformerDecoder::State> steps(ComputationGraph& graph) const {
    return {.scores = [&](const auto& state) { return 3.0f * output(state.h); },
            .advance =
                [&](const auto& state, unsigned symbol) {
                  return decoder.step(state, positions(symbols(graph, symbol), state.length()));
                }};
  }
  BatchedSteps<TransformerDecoder::State> batched(ComputationGraph& graph) const {
    return {.scores = [&](const auto& state) { return 3.0f * output(state.h); },
            .advance =
                [&](const auto& state, const std::vector<unsigned>& all) {
                  return decoder.step(state,
                                      positions(symbols.minibatch(graph, all), state.length()));
                }};
  }
};

TEST(TransformerDecoderBeamTest, AllHypothesesAtOnceFindTheSame) {
  const Writer writer;
  const SearchOptions options = {.end = 1, .max_length = 9, .beam = 5, .n_best = 3};
  for (const bool inference : {false, true}) {
    Minibatch batch({.inference = inference});
    const auto search = [&](ComputationGraph& graph, std::size_t i) {
      const auto start = writer.start(graph, static_cast<unsigned>(i));
      return std::pair{beam_search(start, writer.steps(graph), options),
                       beam_search(start, writer.batched(graph), options)};
    };
    const auto together = for_each_sample(batch, 4, search);
    for (const auto& [separate, joint] : together) {
      ASSERT_EQ(separate.size(), joint.size());
      ASSERT_GE(separate.size(), 1u);
      for (std::size_t k = 0; k < separate.size(); ++k) {
        EXPECT_EQ(separate[k].actions, joint[k].actions);
        EXPECT_EQ(separate[k].sum, joint[k].sum);
      }
      // The score of the best is what the model gives its symbols all at once.
      const Hypothesis<TransformerDecoder::State>& best = separate[0];
      EXPECT_LT(best.sum, 0);
    }
    for (std::size_t i = 0; i < together.size(); ++i) {
      ComputationGraph graph;
      const auto alone = search(graph, i);
      EXPECT_EQ(alone.first[0].actions, together[i].first[0].actions);
      EXPECT_EQ(alone.first[0].sum, together[i].first[0].sum);
    }
  }
}

TEST(TransformerDecoderLayersTest, WhatDoesNotFit) {
  ParameterCollection model;
  EXPECT_EQ(message_of<UsageError>([&] { TransformerDecoder(model, {.size = 4, .heads = 2}); }),
            "[TransformerDecoder] need the option `hidden`, at least 1; got 0");
  EXPECT_THROW(TransformerDecoder(model, {.size = 4, .hidden = 6, .heads = 3}), ShapeError);
  EXPECT_THROW(TransformerDecoder(model, {.size = 4, .hidden = 6, .heads = 2, .layers = 0}),
               UsageError);
  const TransformerDecoder decoder(model, {.size = 4, .hidden = 6, .heads = 2});
  ComputationGraph graph;
  const Expression x = ones(graph, {4, 3}), other = ones(graph, {5, 2});
  EXPECT_THROW(decoder(other, x), ShapeError);
  EXPECT_THROW(decoder(x, other), ShapeError);
  EXPECT_THROW(decoder.start(other), ShapeError);
  EXPECT_THROW(decoder.step(decoder.start(x), ones(graph, {5})), ShapeError);
  EXPECT_EQ(message_of<ShapeError>([&] { decoder.step(decoder.start(x), x); }),
            "[TransformerDecoder] need one column {size} for a step; got {4,3}: pick(x, i, 1) is "
            "column i");
  EXPECT_EQ(message_of<UsageError>([&] { decoder.step({}, x); }),
            "[TransformerDecoder] need a state for each of 1 layer, made by start(source); got 0");
}

}  // namespace
}  // namespace dynet_like::nn
