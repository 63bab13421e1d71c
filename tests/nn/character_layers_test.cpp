// Layers that read the characters of a word: formulas, gradients, batching, errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/character_cnn.h"
#include "nn/character_lstm.h"
#include "tests/support/layers.h"

namespace dynet_like::nn {
namespace {

using Word = std::vector<std::uint32_t>;

constexpr unsigned kCharacters = 5, kVectors = 3;

const std::vector<CharacterFilters> kFilters = {{1, 2}, {2, 4}, {4, 3}};

TEST(CharacterCNNTest, FollowsTheFormula) {
  ParameterCollection model(1, DType::f64);
  const CharacterCNN cnn(model, kCharacters, kVectors, {.filters = kFilters});
  EXPECT_EQ(cnn.outputs(), 9u);
  randomise(model, 2);
  const LookupParameter table(model.find("/character_cnn/characters/E"));
  ComputationGraph graph(double_options());
  for (const Word& word : {Word{3}, Word{0, 4, 4, 1, 2}}) {
    // Two characters of its own at both ends.
    Word padded = {kCharacters, kCharacters};
    padded.insert(padded.end(), word.begin(), word.end());
    padded.insert(padded.end(), 2, kCharacters);
    Doubles expected;
    for (const auto& [width, count, suffix] :
         {std::tuple{1u, 2u, ""}, {2u, 4u, "_1"}, {4u, 3u, "_2"}}) {
      const Doubles f = numbers(model, std::string("/character_cnn/F") + suffix);
      const Doubles b = numbers(model, std::string("/character_cnn/b") + suffix);
      for (unsigned filter = 0; filter < count; ++filter) {
        double largest = -1;
        for (std::size_t start = 0; start + width <= padded.size(); ++start) {
          double sum = b[filter];
          for (unsigned k = 0; k < width; ++k) {
            const Doubles x = row(table, padded[start + k]);
            for (unsigned i = 0; i < kVectors; ++i)
              sum += f[(k * kVectors + i) * count + filter] * x[i];
          }
          largest = std::max(largest, std::tanh(sum));
        }
        expected.push_back(largest);
      }
    }
    expect_near(cnn(graph, word).value(), expected);
  }
}

TEST(CharacterLSTMTest, IsTheCompositionOfItsParts) {
  ParameterCollection model(3), parts(3);
  const CharacterLSTM layer(model, kCharacters, kVectors, {.hidden = 4});
  EXPECT_EQ(layer.outputs(), 8u);
  EXPECT_NE(model.find("/character_lstm/lstm/backward/U"), nullptr);
  const Embedding characters(parts, kCharacters, kVectors);
  const BidirectionalLSTM lstm(parts, kVectors, 4);
  ComputationGraph graph;
  const std::vector<Expression> xs = {characters(graph, 2), characters(graph, 0)};
  EXPECT_EQ(as_vector(layer(graph, Word{2, 0}).value()), as_vector(lstm.final_states(xs).value()));
}

TEST(CharacterLayersTest, Errors) {
  ParameterCollection model;
  EXPECT_THROW(CharacterCNN(model, 0, kVectors, {.filters = kFilters}), ShapeError);
  EXPECT_THROW(CharacterCNN(model, kCharacters, kVectors, {.filters = {}}), UsageError);
  EXPECT_THROW(CharacterCNN(model, kCharacters, 0, {.filters = kFilters}), ShapeError);
  EXPECT_THROW(CharacterCNN(model, kCharacters, kVectors, {.filters = {{0, 2}}}), ShapeError);
  EXPECT_THROW(CharacterCNN(model, kCharacters, kVectors, {.filters = {{2, 0}}}), ShapeError);
  EXPECT_THROW(CharacterLSTM(model, 0, kVectors, {.hidden = 2}), ShapeError);
  EXPECT_THROW(CharacterLSTM(model, kCharacters, kVectors, {}), UsageError);
  const CharacterCNN cnn(model, kCharacters, kVectors, {.filters = kFilters});
  const CharacterLSTM lstm(model, kCharacters, kVectors, {.hidden = 4});
  ComputationGraph graph;
  EXPECT_THROW(cnn(graph, Word{}), UsageError);
  EXPECT_THROW(lstm(graph, Word{}), UsageError);
  EXPECT_THROW(cnn(graph, Word{kCharacters}), UsageError);
  EXPECT_THROW(lstm(graph, Word{kCharacters}), UsageError);
}

}  // namespace
}  // namespace dynet_like::nn
