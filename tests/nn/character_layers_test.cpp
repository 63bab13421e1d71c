// Conv1D, and layers that read the characters of a word: formulas, gradients, batches, errors.
#include "tests/support/layers.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

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

struct Case {
  unsigned columns;
  Conv1DOptions options;
};

// The last has more products than one affine_transform takes.
const Case kCases[] = {{5, {.width = 1}},
                       {5, {.width = 3}},
                       {5, {.width = 5}},
                       {7, {.width = 2, .stride = 2}},
                       {7, {.width = 3, .stride = 3, .padding = 1}},
                       {9, {.width = 3, .dilation = 4}},
                       {9, {.width = 3, .stride = 2, .dilation = 2, .padding = 2}},
                       {1, {.width = 3, .padding = 1}},
                       {1, {.width = 2, .padding = 5}},
                       {3, {.width = 1, .stride = 7}},
                       {40, {.width = 35, .padding = 1}}};
constexpr unsigned kChannels = 2, kOutputs = 3;

class Conv1DTest : public ::testing::TestWithParam<Case> {};

TEST_P(Conv1DTest, FollowsTheFormula) {
  const auto& [columns, options] = GetParam();
  ParameterCollection model(1, DType::f64);
  const Conv1D layer(model, kChannels, kOutputs, options);
  EXPECT_EQ(numbers(model, "/conv1d/b"), Doubles(kOutputs, 0));
  randomise(model, 3);
  const Doubles w = numbers(model, "/conv1d/W"), b = numbers(model, "/conv1d/b");
  ComputationGraph graph(double_options());
  const Expression x = drawn_matrix(graph, kChannels, columns, 1);
  const Doubles numbers = as_doubles(x.value());
  const unsigned span = (options.width - 1) * options.dilation + 1,
                 windows = (columns + 2 * options.padding - span) / options.stride + 1;
  Doubles expected;
  for (unsigned window = 0; window < windows; ++window) {
    for (unsigned row = 0; row < kOutputs; ++row) {
      double sum = b[row];
      for (unsigned k = 0; k < options.width; ++k) {
        const int column = static_cast<int>(window * options.stride + k * options.dilation) -
                           static_cast<int>(options.padding);
        if (column < 0 || column >= static_cast<int>(columns)) continue;
        for (unsigned i = 0; i < kChannels; ++i) {
          sum += w[(k * kChannels + i) * kOutputs + row] *
                 numbers[static_cast<unsigned>(column) * kChannels + i];
        }
      }
      expected.push_back(sum);
    }
  }
  const Expression y = layer(x);
  EXPECT_EQ(y.dim(), Dim({kOutputs, windows}));
  expect_near(y.value(), expected);
}

INSTANTIATE_TEST_SUITE_P(All, Conv1DTest, ::testing::ValuesIn(kCases));

TEST(Conv1DLayerTest, AVectorIsASequenceOfOne) {
  ParameterCollection model;
  const Conv1D layer(model, 2, 3, {.width = 3, .padding = 1});
  ComputationGraph graph;
  const Expression x = drawn_matrix(graph, 2, 1, 1);
  EXPECT_EQ(as_vector(layer(reshape(x, {2})).value()), as_vector(layer(x).value()));
}

TEST(Conv1DLayerTest, SizesThatDoNotFit) {
  ParameterCollection model;
  EXPECT_EQ(message_of<UsageError>([&] { Conv1D(model, 2, 3, {}); }),
            "[Conv1D] need the option `width`, at least 1; got 0");
  EXPECT_THROW(Conv1D(model, 2, 3, {.width = 1, .stride = 0}), UsageError);
  EXPECT_THROW(Conv1D(model, 2, 3, {.width = 1, .dilation = 0}), UsageError);
  EXPECT_THROW(Conv1D(model, 0, 3, {.width = 1}), ShapeError);
  EXPECT_THROW(Conv1D(model, 2, 0, {.width = 1}), ShapeError);
  EXPECT_THROW(Conv1D(model, 1u << 20, 1, {.width = 1u << 20}), ShapeError);
  const Conv1D layer(model, 2, 3, {.width = 3, .dilation = 2, .padding = 1});
  ComputationGraph graph;
  EXPECT_THROW(layer(ones(graph, {3, 9})), ShapeError);
  EXPECT_EQ(message_of<ShapeError>([&] {
              layer(ones(graph, {2, 2}));
            }),
            "[Conv1D] need a sequence of at least 3 columns, for windows of 5 and a padding of 1; "
            "got {2,2}");
  const Conv1D far(model, 2, 3, {.width = 3, .dilation = ~0u, .name = "far"});
  EXPECT_THROW(far(ones(graph, {2, 9})), ShapeError);
  const Conv1D wide(model, 2, 3, {.width = 1, .padding = ~0u, .name = "wide"});
  EXPECT_THROW(wide(ones(graph, {2, 9})), ShapeError);
}

}  // namespace
}  // namespace dynet_like::nn
