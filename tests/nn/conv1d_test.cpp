// Conv1D: the formula in plain doubles for all options, gradients, batches, sizes that do not fit.
#include "nn/conv1d.h"

#include <gtest/gtest.h>

#include "dynet_like/dynet_like.h"
#include "tests/support/layers.h"
#include "tests/support/message_of.h"

namespace dynet_like::nn {
namespace {

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
