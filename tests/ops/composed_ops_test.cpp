// Statistics, distances, losses, selections and other operations that are made of operations.
#include "dynet_like/core/errors.h"
#include "dynet_like/ops/dynet_ops.h"
#include "tests/ops/composed_function.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

double mean(Inputs x) { return total(x[0]) / static_cast<double>(x[0].size()); }
template <int r>
double moment(Inputs x) {
  return mean({each([](double each) { return std::pow(each, r); })(x)});
}
double deviation(Inputs x) {
  const double middle = mean(x);
  return std::sqrt(moment<2>({each([&](double each) { return each - middle; })(x)}));
}
double product(Inputs x) { return sum_of(std::multiplies<>())(x)[0]; }
double norm(const Doubles& x) { return std::sqrt(product({x, x})); }
double cosine(Inputs x) { return product(x) / (norm(x[0]) * norm(x[1])); }
double squared_length(const Doubles& x, const Doubles& y) {
  return sum_of([](double a, double b) { return (a - b) * (a - b); })({x, y})[0];
}
Doubles log_softmax_of(const Doubles& x) {
  const double sum = sum_of([](double each) { return std::exp(each); })({x})[0];
  return each([&](double each) { return each - std::log(sum); })({x});
}

std::vector<Function> functions() {
  const Dim matrix({3, 4}), vector({5}), single({1});
  const std::vector<unsigned> some = {1, 2, 4}, lengths = {3, 0, 1}, rows = {0}, all = {0, 1};
  const std::vector<int> strides = {2, 1}, from = {0, 1}, to = {3, 3};
  const auto element = [](Inputs x, int i) { return x[0][i]; };
  const auto row = [](int i) { return i % 3; };
  const auto of_total = [](Inputs x) { return total(x[0]); };
  return {
      {"moment_elems_2", of(matrix), [](Xs x) { return moment_elems(x[0], 2); }, number(moment<2>)},
      {"moment_elems_5", of(matrix), [](Xs x) { return moment_elems(x[0], 5); }, number(moment<5>),
       0.3, 1.5},
      {"moment_dim", of(matrix), [=](Xs x) { return moment_dim(x[0], rows, 3); },
       columns(3, moment<3>)},
      {"mean_dim_n", of(matrix), [=](Xs x) { return mean_dim(x[0], all, false, 6); },
       number([](Inputs x) { return total(x[0]) / 6; })},
      {"std_elems", of(matrix), [](Xs x) { return std_elems(x[0]); }, number(deviation)},
      {"std_dim", of(matrix), [=](Xs x) { return std_dim(x[0], rows); }, columns(3, deviation)},
      {"sum_rows", of(matrix), [](Xs x) { return sum_rows(x[0]); }, columns(3, of_total)},
      {"sum_cols", of(matrix), [](Xs x) { return sum_cols(x[0]); }, sums(3, 12, element, row)},
      {"average_cols", of(matrix), [](Xs x) { return 4.0f * average_cols(x[0]); },
       sums(3, 12, element, row)},
      {"squared_norm", of(matrix), [](Xs x) { return squared_norm(x[0]); },
       sum_of([](double each) { return each * each; })},
      {"l2_norm", of(matrix), [](Xs x) { return l2_norm(x[0]); },
       number([](Inputs x) { return norm(x[0]); })},
      {"weight_norm", of(matrix, single), [](Xs x) { return weight_norm(x[0], x[1]); },
       [](Inputs x) { return each([&](double each) { return each * x[1][0] / norm(x[0]); })(x); }},
      {"logsumexp", of(matrix, matrix, matrix), [](Xs x) { return logsumexp(x); },
       each([](double a, double b, double c) {
         return std::log(std::exp(a) + std::exp(b) + std::exp(c));
       })},
      {"min_dim", of(matrix), [](Xs x) { return min_dim(x[0], 1); },
       [](Inputs x) {
         Doubles least(x[0].begin(), x[0].begin() + 3);
         for (int i = 3; i < 12; ++i) least[i % 3] = std::min(least[i % 3], x[0][i]);
         return least;
       }},
      {"max", of(matrix, matrix, matrix), [](Xs x) { return max(x); },
       each([](double a, double b, double c) { return std::max(std::max(a, b), c); })},
      {"log_softmax_restricted", of(vector),
       [=](Xs x) { return pick_range(log_softmax(x[0], some), 1, 3); },
       [](Inputs x) {
         const Doubles y = log_softmax_of({x[0][1], x[0][2], x[0][4]});
         return Doubles{y[0], y[1]};
       }},
      {"l1_distance", of(matrix, matrix), [](Xs x) { return l1_distance(x[0], x[1]); },
       sum_of([](double a, double b) { return std::abs(a - b); })},
      {"huber_distance", of(matrix, matrix), [](Xs x) { return huber_distance(x[0], x[1], 0.7f); },
       sum_of([](double a, double b) {
         const double c = 0.7f, d = std::abs(a - b);
         return d < c ? d * d / 2 : c * (d - c / 2);
       })},
      {"pairwise_rank_loss", of(vector, vector),
       [](Xs x) { return pairwise_rank_loss(x[0], x[1], 0.5f); },
       each([](double a, double b) { return std::max(0.0, 0.5 - a + b); })},
      {"trace_of_product", of(matrix, matrix), [](Xs x) { return trace_of_product(x[0], x[1]); },
       number(product)},
      {"colwise_add", of(matrix, Dim({3})), [](Xs x) { return colwise_add(x[0], x[1]); },
       sums(
           12, 12, [](Inputs x, int i) { return x[0][i] + x[1][i % 3]; }, [](int i) { return i; })},
      {"contract3d_1d", of(Dim({2, 3, 4}), Dim({4}), Dim({2, 3})),
       [](Xs x) { return contract3d_1d(x[0], x[1], x[2]); },
       sums(
           0, 24, [](Inputs x, int i) { return x[0][i] * x[1][i / 6]; },
           [](int i) { return i % 6; })},
      {"contract3d_1d_1d", of(Dim({2, 3, 4}), Dim({4}), Dim({3}), Dim({2})),
       [](Xs x) { return contract3d_1d_1d(x[0], x[1], x[2], x[3]); },
       sums(
           0, 24, [](Inputs x, int i) { return x[0][i] * x[1][i / 6] * x[2][i % 6 / 2]; },
           [](int i) { return i % 2; })},
      {"segment_mean", of(matrix), [=](Xs x) { return segment_mean(x[0], lengths); },
       sums(
           9, 12, [](Inputs x, int i) { return x[0][i] / (i < 9 ? 3 : 1); },
           [](int i) { return i < 9 ? i % 3 : i - 3; })},
      {"strided_select", of(matrix), [=](Xs x) { return strided_select(x[0], strides, from, to); },
       [](Inputs x) {
         return Doubles{x[0][3], x[0][5], x[0][6], x[0][8]};
       }},
      {"kmh_ngram", of(matrix), [](Xs x) { return kmh_ngram(x[0], 3); },
       sums(
           6, 18, [](Inputs x, int i) { return x[0][i % 6 + i / 6 * 3]; },
           [](int i) { return i % 6; })},
      {"fold_rows", of(Dim({4, 3})), [](Xs x) { return fold_rows(x[0]); },
       sums(6, 12, element, [](int i) { return i / 2; })},
      {"cross_entropy_smoothed", of(vector),
       [](Xs x) { return cross_entropy(x[0], std::vector<unsigned>(x[0].dim().bd, 2), 0.1f); },
       number([](Inputs x) {
         const Doubles log_p = log_softmax_of(x[0]);
         const double s = static_cast<double>(0.1f);
         return -(1 - s) * log_p[2] - s * total(log_p) / 5;
       })},
      {"binary_log_loss", of(matrix, matrix), [](Xs x) { return binary_log_loss(x[0], x[1]); },
       sum_of([](double a, double b) { return -(b * std::log(a) + (1 - b) * std::log(1 - a)); }),
       0.1, 0.9},
      {"binary_cross_entropy_with_logits", of(matrix, matrix),
       [](Xs x) { return binary_cross_entropy_with_logits(x[0], x[1]); },
       sum_of([](double a, double b) { return std::log1p(std::exp(a)) - a * b; }), 0.1, 0.9},
      {"kl_divergence", of(vector, vector),
       [](Xs x) { return kl_divergence(log_softmax(x[0]), log_softmax(x[1])); },
       [](Inputs x) {
         const auto term = [](double p, double q) { return std::exp(p) * (p - q); };
         return sum_of(term)({log_softmax_of(x[0]), log_softmax_of(x[1])});
       }},
      {"cosine_similarity", of(vector, vector), [](Xs x) { return cosine_similarity(x[0], x[1]); },
       number(cosine)},
      {"cosine_similarity_of_columns", of(matrix, matrix),
       [](Xs x) { return cosine_similarity(x[0], x[1]); }, columns(3, cosine)},
      {"triplet_loss", of(vector, vector, vector),
       [](Xs x) { return triplet_loss(x[0], x[1], x[2], 0.5f); }, number([](Inputs x) {
         const double near = squared_length(x[0], x[1]), far = squared_length(x[0], x[2]);
         return std::max(0.0, 0.5 + near - far);
       })},
      {"contrastive_loss", of(vector, vector, single),
       [](Xs x) { return contrastive_loss(x[0], x[1], x[2], 2.0f); }, number([](Inputs x) {
         const double d = std::sqrt(squared_length(x[0], x[1])), rest = std::max(0.0, 2 - d);
         return x[2][0] * d * d + (1 - x[2][0]) * rest * rest;
       })},
      {"where", of(matrix, matrix),
       [](Xs x) { return where(less(x[0], x[1]), exp(x[0]), square(x[1])); },
       each([](double a, double b) { return a < b ? std::exp(a) : b * b; })},
      {"clip", of(matrix), [](Xs x) { return clip(x[0], -0.5f, 0.25f); },
       each([](double each) { return std::clamp(each, -0.5, 0.25); })},
  };
}

INSTANTIATE_TEST_SUITE_P(Composed, ComposedOpTest, ::testing::ValuesIn(functions()),
                         name_of_function);

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
  check(random_normal(graph, dim), 0, 1);
  check(random_bernoulli(graph, dim, 0.2f), 0.2, 0.4);
  check(random_bernoulli(graph, dim, 0.2f, 2), 0.4, 0.8);
  check(random_gumbel(graph, dim), 0.5772, std::acos(-1.0) / std::sqrt(6.0));
  check(noise(zeros(graph, dim), 1.5f), 0, 1.5);
}

}  // namespace
}  // namespace dynet_like
