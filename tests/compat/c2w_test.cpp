// <dynet/c2w.h>: words from characters.
#include <dynet/c2w.h>

#include "dynet_like/core/errors.h"
#include "tests/compat/builders.h"
#include "tests/support/precompiled.h"

namespace dynet {
namespace {

using dynet_like::UsageError;

struct CompatC2wTest : testing::Test {
  CompatC2wTest() : words(5, 2, 3, 4, model) { randomise(model, 1); }

  ParameterCollection model;
  C2WBuilder words;
  ComputationGraph graph;
};

TEST_F(CompatC2wTest, WordsAreReadInBothDirections) {
  words.new_graph(&graph);
  const std::vector<int> characters = {1, 4, 0};
  const Expression word(&graph, words.add_word(7, characters, &graph));
  EXPECT_EQ(word.dim(), Dim({8}));
  const auto read = [&](LSTMBuilder& lstm, const std::vector<unsigned>& order) {
    lstm.start_new_sequence();
    for (const unsigned c : order) lstm.add_input(lookup(graph, words.p_lookup, c));
    return lstm.back();
  };
  EXPECT_EQ(values_of(word),
            values_of(concatenate({read(words.fc2w, {1, 4, 0}), read(words.rc2w, {0, 4, 1})})));
  graph.backward(squared_norm(word));
  expect_gradients_everywhere(model);
  model.reset_gradient();
}

TEST_F(CompatC2wTest, AWordIsReadOnce) {
  words.new_graph(&graph);
  const VariableIndex first = words.add_word(7, {1, 2}, &graph);
  const std::size_t nodes = graph.size();
  EXPECT_EQ(words.add_word(7, {1, 2}, &graph), first);
  EXPECT_EQ(graph.size(), nodes);
  EXPECT_NE(words.add_word(8, {1, 2}, &graph), first);
  ComputationGraph other;
  words.new_graph(&other);
  const Expression again(&other, words.add_word(7, {2, 1}, &other));
  EXPECT_NE(values_of(again), as_vector(graph.get_value(first)));
}

TEST_F(CompatC2wTest, WhatIsNoWordThrows) {
  words.new_graph(&graph);
  EXPECT_THROW(words.add_word(1, {}, &graph), UsageError);
  EXPECT_THROW(words.add_word(1, {-1}, &graph), UsageError);
  EXPECT_THROW(words.add_word(1, {5}, &graph), UsageError);
  EXPECT_THROW(C2WBuilder(0, 1, 2, 3, model), UsageError);
}

TEST_F(CompatC2wTest, BatchesHaveTheBitsOfOneByOne) {
  expect_bits_of_one_by_one(model, 10, [&](ComputationGraph& in, unsigned sample) {
    words.new_graph(&in);
    std::vector<int> characters;
    for (unsigned i = 0; i <= sample % 4; ++i)
      characters.push_back(static_cast<int>((sample + i) % 5));
    return Expression(&in, words.add_word(0, characters, &in));
  });
}

TEST_F(CompatC2wTest, ParametersAreOfTheirOwnCollection) {
  EXPECT_EQ(words.get_parameter_collection().get_fullname(), "/c2w-builder/");
  EXPECT_EQ(words.get_parameter_collection().size(), 13u);
  EXPECT_EQ(model.size(), 13u);
}

}  // namespace
}  // namespace dynet
