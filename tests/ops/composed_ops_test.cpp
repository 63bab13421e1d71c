// Statistics, distances, selections and other operations that are made of operations.
#include <limits>
#include <numeric>

#include "tests/ops/composed_function.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/dynet_ops.h"
#include "tests/support/message_of.h"

namespace dynet_like {
namespace {

double mean(const Doubles& x) { return std::accumulate(x.begin(), x.end(), 0.0) / x.size(); }
double moment(const Doubles& x, int r) {
  double sum = 0;
  for (double each : x) sum += std::pow(each, r);
  return sum / x.size();
}
double deviation(const Doubles& x) {
  double sum = 0;
  for (double each : x) sum += (each - mean(x)) * (each - mean(x));
  return std::sqrt(sum / x.size());
}
Doubles column(const Doubles& x, std::size_t rows, std::size_t c) {
  return Doubles(x.begin() + c * rows, x.begin() + (c + 1) * rows);
}
template <class F>
Doubles by_element(const Doubles& x, const Doubles& y, const F& f) {
  Doubles result;
  for (std::size_t i = 0; i < x.size(); ++i) result.push_back(f(x[i], y[i]));
  return result;
}
double total(const Doubles& x) { return std::accumulate(x.begin(), x.end(), 0.0); }

// {3,4} matrices unless they say otherwise.
std::vector<Function> functions() {
  const Dim matrix({3, 4}), vector({5});
  using Inputs = const std::vector<Doubles>&;
  return {
      {"moment_elems_2",
       {matrix},
       [](const Xs& x) { return moment_elems(x[0], 2); },
       [](Inputs x) { return Doubles{moment(x[0], 2)}; }},
      {"moment_elems_5",
       {matrix},
       [](const Xs& x) { return moment_elems(x[0], 5); },
       [](Inputs x) { return Doubles{moment(x[0], 5)}; },
       0.3,
       1.5},
      {"moment_dim",
       {matrix},
       [](const Xs& x) { return moment_dim(x[0], {0}, 3); },
       [](Inputs x) {
         Doubles result;
         for (int c = 0; c < 4; ++c) result.push_back(moment(column(x[0], 3, c), 3));
         return result;
       }},
      {"mean_dim_n",
       {matrix},
       [](const Xs& x) {
         return mean_dim(x[0], {0, 1}, false, 6);
       },
       [](Inputs x) { return Doubles{2 * mean(x[0])}; }},
      {"std_elems",
       {matrix},
       [](const Xs& x) { return std_elems(x[0]); },
       [](Inputs x) { return Doubles{deviation(x[0])}; }},
      {"std_dim",
       {matrix},
       [](const Xs& x) { return std_dim(x[0], {0}); },
       [](Inputs x) {
         Doubles result;
         for (int c = 0; c < 4; ++c) result.push_back(deviation(column(x[0], 3, c)));
         return result;
       }},
      {"sum_rows",
       {matrix},
       [](const Xs& x) { return sum_rows(x[0]); },
       [](Inputs x) {
         Doubles result;
         for (int c = 0; c < 4; ++c) result.push_back(total(column(x[0], 3, c)));
         return result;
       }},
      {"average_cols",
       {matrix},
       [](const Xs& x) { return average_cols(x[0]); },
       [](Inputs x) {
         Doubles result(3);
         for (int i = 0; i < 12; ++i) result[i % 3] += x[0][i] / 4;
         return result;
       }},
      {"squared_norm",
       {matrix},
       [](const Xs& x) { return squared_norm(x[0]); },
       [](Inputs x) { return Doubles{12 * moment(x[0], 2)}; }},
      {"l2_norm",
       {matrix},
       [](const Xs& x) { return l2_norm(x[0]); },
       [](Inputs x) { return Doubles{std::sqrt(12 * moment(x[0], 2))}; }},
      {"weight_norm",
       {matrix, Dim({1})},
       [](const Xs& x) { return weight_norm(x[0], x[1]); },
       [](Inputs x) {
         Doubles result = x[0];
         for (double& each : result) each *= x[1][0] / std::sqrt(12 * moment(x[0], 2));
         return result;
       }},
      {"logsumexp",
       {matrix, matrix, matrix},
       [](const Xs& x) { return logsumexp(x); },
       [](Inputs x) {
         Doubles result;
         for (int i = 0; i < 12; ++i) {
           result.push_back(std::log(std::exp(x[0][i]) + std::exp(x[1][i]) + std::exp(x[2][i])));
         }
         return result;
       }},
      {"min_dim",
       {matrix},
       [](const Xs& x) { return min_dim(x[0], 1); },
       [](Inputs x) {
         Doubles result(3, 9);
         for (int i = 0; i < 12; ++i) result[i % 3] = std::min(result[i % 3], x[0][i]);
         return result;
       }},
      {"max",
       {matrix, matrix, matrix},
       [](const Xs& x) { return max(x); },
       [](Inputs x) {
         Doubles result;
         for (int i = 0; i < 12; ++i) result.push_back(std::max({x[0][i], x[1][i], x[2][i]}));
         return result;
       }},
      {"log_softmax_restricted",
       {vector},
       [](const Xs& x) {
         return pick_range(log_softmax(x[0], std::vector<unsigned>{1, 2, 4}), 1, 3);
       },
       [](Inputs x) {
         const double all = std::exp(x[0][1]) + std::exp(x[0][2]) + std::exp(x[0][4]);
         return Doubles{x[0][1] - std::log(all), x[0][2] - std::log(all)};
       }},
      {"l1_distance",
       {matrix, matrix},
       [](const Xs& x) { return l1_distance(x[0], x[1]); },
       [](Inputs x) {
         return Doubles{
             total(by_element(x[0], x[1], [](double a, double b) { return std::abs(a - b); }))};
       }},
      {"huber_distance",
       {matrix, matrix},
       [](const Xs& x) { return huber_distance(x[0], x[1], 0.7f); },
       [](Inputs x) {
         const double c = 0.7f;
         return Doubles{total(by_element(x[0], x[1], [&](double a, double b) {
           const double d = std::abs(a - b);
           return d < c ? d * d / 2 : c * (d - c / 2);
         }))};
       }},
      {"binary_log_loss",
       {matrix, matrix},
       [](const Xs& x) { return binary_log_loss(x[0], x[1]); },
       [](Inputs x) {
         return Doubles{total(by_element(x[0], x[1], [](double a, double b) {
           return -(b * std::log(a) + (1 - b) * std::log(1 - a));
         }))};
       },
       0.1,
       0.9},
      {"pairwise_rank_loss",
       {vector, vector},
       [](const Xs& x) { return pairwise_rank_loss(x[0], x[1], 0.5f); },
       [](Inputs x) {
         return by_element(x[0], x[1],
                           [](double a, double b) { return std::max(0.0, 0.5 - a + b); });
       }},
      {"trace_of_product",
       {matrix, matrix},
       [](const Xs& x) { return trace_of_product(x[0], x[1]); },
       [](Inputs x) {
         return Doubles{total(by_element(x[0], x[1], [](double a, double b) { return a * b; }))};
       }},
      {"colwise_add",
       {matrix, Dim({3})},
       [](const Xs& x) { return colwise_add(x[0], x[1]); },
       [](Inputs x) {
         Doubles result = x[0];
         for (int i = 0; i < 12; ++i) result[i] += x[1][i % 3];
         return result;
       }},
      {"contract3d_1d",
       {Dim({2, 3, 4}), Dim({4}), Dim({2, 3})},
       [](const Xs& x) { return contract3d_1d(x[0], x[1], x[2]); },
       [](Inputs x) {
         Doubles result = x[2];
         for (int i = 0; i < 24; ++i) result[i % 6] += x[0][i] * x[1][i / 6];
         return result;
       }},
      {"contract3d_1d_1d",
       {Dim({2, 3, 4}), Dim({4}), Dim({3}), Dim({2})},
       [](const Xs& x) { return contract3d_1d_1d(x[0], x[1], x[2], x[3]); },
       [](Inputs x) {
         Doubles result = x[3];
         for (int i = 0; i < 24; ++i) result[i % 2] += x[0][i] * x[1][i / 6] * x[2][i % 6 / 2];
         return result;
       }},
      {"segment_mean",
       {matrix},
       [](const Xs& x) {
         return segment_mean(x[0], {3, 0, 1});
       },
       [](Inputs x) {
         Doubles result(9);
         for (int i = 0; i < 9; ++i) result[i % 3] += x[0][i] / 3;
         for (int i = 0; i < 3; ++i) result[6 + i] = x[0][9 + i];
         return result;
       }},
      {"strided_select",
       {matrix},
       [](const Xs& x) {
         return strided_select(x[0], {2, 1}, {0, 1}, {3, 3});
       },
       [](Inputs x) {
         return Doubles{x[0][3], x[0][5], x[0][6], x[0][8]};
       }},
      {"kmh_ngram",
       {matrix},
       [](const Xs& x) { return kmh_ngram(x[0], 3); },
       [](Inputs x) {
         Doubles result(6);
         for (int i = 0; i < 6; ++i) result[i] = x[0][i] + x[0][i + 3] + x[0][i + 6];
         return result;
       }},
      {"fold_rows",
       {Dim({4, 3})},
       [](const Xs& x) { return fold_rows(x[0]); },
       [](Inputs x) {
         Doubles result(6);
         for (int i = 0; i < 12; ++i) result[i / 2] += x[0][i];
         return result;
       }},
  };
}

INSTANTIATE_TEST_SUITE_P(Composed, ComposedOpTest, ::testing::ValuesIn(functions()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ComposedOpsTest, MinibatchesAreTakenApartAndPutTogether) {
  ComputationGraph graph;
  const Expression x = input(graph, Dim({2}, 3), std::vector<float>{1, 2, 3, 4, 5, 6});
  const Expression y = pick_batch_elems(x, {2, 0, 2, 1});
  EXPECT_EQ(y.dim(), Dim({2}, 4));
  EXPECT_EQ(as_vector(y.value()), (std::vector<float>{5, 6, 1, 2, 5, 6, 3, 4}));
  const Expression z = concatenate_to_batch({y, x});
  EXPECT_EQ(z.dim(), Dim({2}, 7));
  graph.backward(sum_batches(sum_elems(square(z))), true);
  EXPECT_EQ(as_vector(x.gradient()), (std::vector<float>{4, 8, 12, 16, 30, 36}));
  EXPECT_EQ(as_vector(std_batches(x).value()),
            as_vector(std_batches(pick_batch_elems(x, {1, 0, 2})).value()));
  EXPECT_NEAR(static_cast<double>(as_vector(moment_batches(x, 2).value())[0]), 35.0 / 3, 1e-5);
  const Expression last = strided_select(x, {1, 2}, {1, 0});
  EXPECT_EQ(as_vector(last.value()), (std::vector<float>{2, 6}));
}

TEST(ComposedOpsTest, SegmentsOfAnyLength) {
  ComputationGraph graph;
  const Expression x = input(graph, {2, 3}, {1, 2, 3, 4, 5, 600});
  const float infinity = std::numeric_limits<float>::infinity();
  using Floats = std::vector<float>;
  EXPECT_EQ(as_vector(segment_sum(x, {0, 2, 1}).value()), (Floats{0, 0, 4, 6, 5, 600}));
  EXPECT_EQ(as_vector(segment_mean(x, {0, 2, 1}).value()), (Floats{0, 0, 2, 3, 5, 600}));
  EXPECT_EQ(as_vector(segment_max(x, {0, 2, 1}).value()),
            (Floats{-infinity, -infinity, 3, 4, 5, 600}));
  EXPECT_EQ(as_vector(segment_softmax(1000.0f * x, {1, 0, 2}).value()), (Floats{1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(as_vector(segment_sum(x, {1, 1}, 0).value()), as_vector(x.value()));
  EXPECT_EQ(as_vector(scatter_add(x, {2, 0, 2}, 4, 1).value()), (Floats{3, 4, 0, 0, 6, 602, 0, 0}));
  EXPECT_EQ(message_of<UsageError>([&] {
              segment_mean(x, {1, 1});
            }),
            "[segment_mean] need lengths that add up to 3, the size of dimension 1; got 2 that add "
            "up to 2");
  EXPECT_THROW(segment_sum(x, {1, 3}), UsageError);
  EXPECT_THROW(segment_sum(x, {4'000'000'000, 4'000'000'000}), UsageError);
  EXPECT_THROW(segment_sum(x, {}), UsageError);
  EXPECT_THROW(segment_sum(x, {1, 2}, 5), ShapeError);
  EXPECT_THROW(scatter_add(x, {0, 1}, 2, 1), ShapeError);
  EXPECT_THROW(scatter_add(x, {0, 1, 2}, 2, 1), UsageError);
  EXPECT_THROW(top_k(x, 3), ShapeError);
}

TEST(ComposedOpsTest, OfEqualNumbersNothingIsNoNumber) {
  ComputationGraph graph;
  const Expression x = input(graph, Dim({3}), std::vector<float>{0, 0, 0});
  const Expression g = input(graph, Dim({3}), std::vector<float>{1, 2, 3});
  const Expression loss = std_elems(x) + l2_norm(x) + sum_elems(layer_norm(x, g, g));
  EXPECT_EQ(as_vector(loss.value()), std::vector<float>{6});
  graph.backward(loss, true);
  for (float each : as_vector(x.gradient())) EXPECT_TRUE(std::isfinite(each)) << each;
}

TEST(ComposedOpsTest, MasksCoverWhatTheirNameSays) {
  GraphOptions options;
  options.seed = 1;
  ComputationGraph graph(options);
  const Expression x = ones(graph, Dim({4, 50}, 3));
  const auto by_row = as_vector(dropout_dim(x, 0, 0.5f).value());
  const auto by_element = as_vector(dropout_batch(x, 0.5f).value());
  const auto whole = as_vector(block_dropout(x, 0.5f).value());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < by_row.size(); ++i) {
    EXPECT_EQ(by_row[i], by_row[i / 4 * 4]);
    EXPECT_EQ(by_element[i], by_element[i / 200 * 200]);
    EXPECT_EQ(whole[i], whole[0]);
    EXPECT_TRUE(by_row[i] == 0 || by_row[i] == 2) << by_row[i];
    kept += by_row[i] != 0 && i % 4 == 0;
  }
  EXPECT_NEAR(static_cast<double>(kept), 75, 30);
}

TEST(ComposedOpsTest, RandomNumbersHaveTheirMoments) {
  GraphOptions options;
  options.seed = 1;
  ComputationGraph graph(options);
  const Dim dim({1000, 40});
  const auto check = [&](const Expression& x, double expected_mean, double expected_deviation) {
    EXPECT_NEAR(static_cast<double>(as_scalar(mean_elems(x).value())), expected_mean, 0.03);
    EXPECT_NEAR(static_cast<double>(as_scalar(std_elems(x).value())), expected_deviation, 0.03);
  };
  check(random_uniform(graph, dim, -1, 3), 1, 4 / std::sqrt(12.0));
  check(random_normal(graph, dim, 0.5f, 2), 0.5, 2);
  check(random_bernoulli(graph, dim, 0.2f, 2), 0.4, 0.8);
  check(random_gumbel(graph, dim), 0.5772, std::acos(-1.0) / std::sqrt(6.0));
  check(noise(zeros(graph, dim), 1.5f), 0, 1.5);
}

}  // namespace
}  // namespace dynet_like
