// Convolutions, pooling and LSTM steps that are made of operations.
#include "tests/ops/composed_function.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

// {5,4,2} by filters {2,3,2,3}; element (r, c, k) of x is x[r + 5 c + 20 k].
struct Convolution {
  unsigned row_stride, column_stride;
  bool is_valid;

  // f(filter, window) for every place of the result: window(r, c, k) is 0 outside.
  template <class Reduce>
  Doubles operator()(const Doubles& x, unsigned results, const Reduce& reduce) const {
    const auto count = [&](unsigned size, unsigned window, unsigned stride) {
      return is_valid ? (size - window) / stride + 1 : (size + stride - 1) / stride;
    };
    const unsigned rows = count(5, 2, row_stride), columns = count(4, 3, column_stride);
    const int top = is_valid ? 0 : static_cast<int>((rows - 1) * row_stride + 2 - 5) / 2;
    const int left = is_valid ? 0 : static_cast<int>((columns - 1) * column_stride + 3 - 4) / 2;
    Doubles result;
    for (unsigned f = 0; f < results; ++f) {
      for (unsigned c = 0; c < columns; ++c) {
        for (unsigned r = 0; r < rows; ++r) {
          result.push_back(reduce(f, [&](int i, int j, int k, double outside) {
            const int row = static_cast<int>(r * row_stride) + i - top;
            const int column = static_cast<int>(c * column_stride) + j - left;
            const bool inside = row >= 0 && row < 5 && column >= 0 && column < 4;
            return inside ? x[static_cast<std::size_t>(row + 5 * column + 20 * k)] : outside;
          }));
        }
      }
    }
    return result;
  }
};

Doubles plain_conv2d(const Convolution& windows, Inputs x) {
  return windows(x[0], 3, [&](unsigned f, const auto& window) {
    double sum = x.size() > 2 ? x[2][f] : 0;
    for (int k = 0; k < 2; ++k) {
      for (int j = 0; j < 3; ++j) {
        for (int i = 0; i < 2; ++i) {
          sum += x[1][i + 2 * j + 6 * k + 12 * f] * window(i, j, k, 0.0);
        }
      }
    }
    return sum;
  });
}

Doubles plain_pooling(const Convolution& windows, const Doubles& x) {
  return windows(x, 2, [&](unsigned k, const auto& window) {
    double top = -100;
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) top = std::max(top, window(i, j, static_cast<int>(k), -100.0));
    }
    return top;
  });
}

std::vector<Function> convolutions() {
  const Dim image({5, 4, 2}), filters({2, 3, 2, 3});
  const std::vector<unsigned> window = {2, 3}, once = {1, 1}, by_two_rows = {2, 1},
                              by_two_columns = {1, 2};
  const Convolution valid{1, 1, true}, same_by_rows{2, 1, false}, valid_by_rows{2, 1, true},
      same_by_columns{1, 2, false};
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  return {
      {"conv2d_valid", of(image, filters), [=](Xs x) { return conv2d(x[0], x[1], once); },
       [=](Inputs x) { return plain_conv2d(valid, x); }},
      {"conv2d_same", of(image, filters, Dim({3})),
       [=](Xs x) { return conv2d(x[0], x[1], x[2], by_two_rows, false); },
       [=](Inputs x) { return plain_conv2d(same_by_rows, x); }},
      {"maxpooling2d_valid", of(image),
       [=](Xs x) { return maxpooling2d(x[0], window, by_two_rows); },
       [=](Inputs x) { return plain_pooling(valid_by_rows, x[0]); }},
      {"maxpooling2d_same", of(image),
       [=](Xs x) { return maxpooling2d(x[0], window, by_two_columns, false); },
       [=](Inputs x) { return plain_pooling(same_by_columns, x[0]); }},
      {"filter1d_narrow", of(Dim({3, 5}), Dim({3, 2, 4})),
       [](Xs x) { return filter1d_narrow(x[0], x[1]); },
       [](Inputs x) {
         Doubles result(16);
         for (int c = 0; c < 4; ++c) {
           for (int f = 0; f < 4; ++f) {
             for (int e = 0; e < 6; ++e) result[f + 4 * c] += x[0][3 * c + e] * x[1][e + 6 * f];
           }
         }
         return result;
       }},
      {"circ_conv", of(Dim({5}), Dim({5})), [](Xs x) { return circ_conv(x[0], x[1]); },
       [](Inputs x) {
         Doubles result(5);
         for (int i = 0; i < 5; ++i) {
           for (int k = 0; k < 5; ++k) result[i] += x[0][k] * x[1][(i - k + 5) % 5];
         }
         return result;
       }},
      {"circ_corr", of(Dim({5}), Dim({5})), [](Xs x) { return circ_corr(x[0], x[1]); },
       [](Inputs x) {
         Doubles result(5);
         for (int i = 0; i < 5; ++i) {
           for (int k = 0; k < 5; ++k) result[i] += x[0][k] * x[1][(i + k) % 5];
         }
         return result;
       }},
      {"vanilla_lstm", of(Dim({3}), Dim({2}), Dim({8, 3}), Dim({8, 2}), Dim({8}), Dim({2})),
       [](Xs x) {
         const Expression gates = vanilla_lstm_gates(x[0], x[1], x[2], x[3], x[4]);
         return vanilla_lstm_h(vanilla_lstm_c(x[5], gates), gates);
       },
       [sigmoid](Inputs x) {
         Doubles sums = x[4];
         for (int r = 0; r < 8; ++r) {
           for (int k = 0; k < 3; ++k) sums[r] += x[2][r + 8 * k] * x[0][k];
           for (int k = 0; k < 2; ++k) sums[r] += x[3][r + 8 * k] * x[1][k];
         }
         Doubles h;
         for (int r = 0; r < 2; ++r) {
           const double c =
               sigmoid(sums[2 + r] + 1) * x[5][r] + sigmoid(sums[r]) * std::tanh(sums[6 + r]);
           h.push_back(sigmoid(sums[4 + r]) * std::tanh(c));
         }
         return h;
       }},
  };
}

INSTANTIATE_TEST_SUITE_P(Convolutions, ComposedOpTest, ::testing::ValuesIn(convolutions()),
                         name_of_function);

TEST(VanillaLstmTest, MasksAndSeveralInputs) {
  ComputationGraph graph;
  const auto numbers = [&](const Dim& dim, float first) {
    std::vector<float> values;
    for (unsigned i = 0; i < dim.size(); ++i)
      values.push_back(first - 0.1f * static_cast<float>(i));
    return input(graph, dim, values);
  };
  const Expression x = numbers({3}, 1), h = numbers({2}, 0.5f);
  const Expression wx = numbers({8, 3}, 1), wh = numbers({8, 2}, 0.4f), b = numbers({8}, 0.2f);
  const Expression mask_x = numbers({3}, 2), mask_h = numbers({2}, 1);
  const std::vector<Expression> parts = {pick_range(x, 0, 1), pick_range(x, 1, 3)};
  EXPECT_EQ(as_vector(vanilla_lstm_gates_concat(parts, h, wx, wh, b).value()),
            as_vector(vanilla_lstm_gates(x, h, wx, wh, b).value()));
  const auto masked =
      as_vector(vanilla_lstm_gates(cmult(x, mask_x), cmult(h, mask_h), wx, wh, b).value());
  EXPECT_EQ(as_vector(vanilla_lstm_gates_dropout(x, h, wx, wh, b, mask_x, mask_h).value()), masked);
  EXPECT_EQ(
      as_vector(vanilla_lstm_gates_dropout_concat(parts, h, wx, wh, b, mask_x, mask_h).value()),
      masked);
}

TEST(SparseInputTest, StandsWhereItSays) {
  ComputationGraph graph;
  EXPECT_EQ(as_vector(one_hot(graph, 3, 1).value()), (std::vector<float>{0, 1, 0}));
  EXPECT_EQ(as_vector(one_hot(graph, 2, std::vector<unsigned>{1, 0}).value()),
            (std::vector<float>{0, 1, 1, 0}));
  EXPECT_EQ(as_vector(input(graph, Dim({2, 2}), {3, 0}, {5, 7}, -1).value()),
            (std::vector<float>{7, -1, -1, 5}));
  EXPECT_THROW(one_hot(graph, 3, 3), UsageError);
  EXPECT_THROW(input(graph, Dim({2}), {2}, {1}), UsageError);
  EXPECT_THROW(input(graph, Dim({2}), {1}, {1, 2}), UsageError);
}

}  // namespace
}  // namespace dynet_like
