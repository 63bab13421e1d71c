// <dynet/expr.h>: every function that makes an Expression can be called as DyNet's.
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace dynet;
using Floats = std::vector<float>;

class CompatExprTest : public ::testing::Test {
 protected:
  Expression column(Floats values) {
    return input(graph_, Dim({static_cast<unsigned>(values.size())}), values);
  }
  Expression matrix(unsigned rows, Floats values) {
    return input(graph_, Dim({rows, static_cast<unsigned>(values.size()) / rows}), values);
  }
  Expression batch(unsigned n, Floats values) {
    return input(graph_, Dim({static_cast<unsigned>(values.size()) / n}, n), values);
  }

  ComputationGraph graph_;
  ParameterCollection model_;
  Device* const cpu_ = default_device;
};

void expect_near(const Expression& e, const Floats& wanted) {
  const Floats got = as_vector(e.value());
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], wanted[i], 1e-5 * (1 + std::abs(wanted[i]))) << "element " << i;
  }
}

TEST_F(CompatExprTest, Sources) {
  const real one = 1;
  const Floats two = {1, 2};
  expect_near(input(graph_, 1.0f), {1});
  expect_near(input(graph_, 1.0f, cpu_), {1});
  expect_near(input(graph_, &one), {1});
  expect_near(input(graph_, &one, cpu_), {1});
  expect_near(input(graph_, {2}, two), two);
  expect_near(input(graph_, {2}, two, cpu_), two);
  expect_near(input(graph_, {2}, &two), two);
  expect_near(input(graph_, {2}, &two, cpu_), two);
  expect_near(input(graph_, {3}, {1}, {5}), {0, 5, 0});
  expect_near(input(graph_, {3}, {1}, {5}, 2.0f), {2, 5, 2});
  expect_near(input(graph_, {3}, {1}, {5}, 2.0f, cpu_), {2, 5, 2});
  expect_near(one_hot(graph_, 3, 1), {0, 1, 0});
  expect_near(one_hot(graph_, 3, 1, cpu_), {0, 1, 0});
  expect_near(one_hot(graph_, 2, std::vector<unsigned>{1, 0}), {0, 1, 1, 0});
  expect_near(one_hot(graph_, 2, std::vector<unsigned>{1, 0}, cpu_), {0, 1, 1, 0});
  expect_near(zeros(graph_, {2}), {0, 0});
  expect_near(zeros(graph_, {2}, cpu_), {0, 0});
  expect_near(zeroes(graph_, {2}), {0, 0});
  expect_near(zeroes(graph_, {2}, cpu_), {0, 0});
  expect_near(ones(graph_, {2}), {1, 1});
  expect_near(ones(graph_, {2}, cpu_), {1, 1});
  expect_near(constant(graph_, {2}, 3), {3, 3});
  expect_near(constant(graph_, {2}, 3, cpu_), {3, 3});
  expect_near(to_device(column({1, 2}), cpu_), {1, 2});
}

TEST_F(CompatExprTest, Parameters) {
  const Parameter p = model_.add_parameters({2}, ParameterInitFromVector({1, 2}));
  const LookupParameter t =
      model_.add_lookup_parameters(2, {2}, ParameterInitFromVector({3, 4, 5, 6}));
  unsigned row = 1;
  std::vector<unsigned> rows = {1, 0};
  expect_near(parameter(graph_, p), {1, 2});
  expect_near(const_parameter(graph_, p), {1, 2});
  expect_near(parameter(graph_, t), {3, 4, 5, 6});
  expect_near(const_parameter(graph_, t), {3, 4, 5, 6});
  expect_near(lookup(graph_, t, 1), {5, 6});
  expect_near(lookup(graph_, t, &row), {5, 6});
  expect_near(lookup(graph_, t, rows), {5, 6, 3, 4});
  expect_near(lookup(graph_, t, &rows), {5, 6, 3, 4});
  expect_near(const_lookup(graph_, t, 1), {5, 6});
  expect_near(const_lookup(graph_, t, &row), {5, 6});
  expect_near(const_lookup(graph_, t, rows), {5, 6, 3, 4});
  expect_near(const_lookup(graph_, t, &rows), {5, 6, 3, 4});
}

TEST_F(CompatExprTest, RandomSources) {
  const Dim dim({1000});
  for (const Expression& e : {random_normal(graph_, dim), random_normal(graph_, dim, 0, 1, cpu_),
                              noise(zeros(graph_, dim), 1)}) {
    const Floats x = as_vector(e.value());
    double sum = 0, squares = 0;
    for (const float value : x) sum += value, squares += value * value;
    EXPECT_NEAR(sum / 1000, 0, 0.2);
    EXPECT_NEAR(squares / 1000, 1, 0.3);
  }
  for (const Expression& e :
       {random_uniform(graph_, dim, 2, 3), random_uniform(graph_, dim, 2, 3, cpu_)}) {
    for (const float value : as_vector(e.value())) EXPECT_TRUE(value >= 2 && value <= 3);
  }
  for (const Expression& e :
       {random_bernoulli(graph_, dim, 0.5f, 2.0f), random_bernoulli(graph_, dim, 0.5f, 2, cpu_),
        dropout(ones(graph_, dim), 0.5f)}) {
    unsigned kept = 0;
    for (const float value : as_vector(e.value())) {
      EXPECT_TRUE(value == 0 || value == 2);
      kept += value > 0;
    }
    EXPECT_TRUE(kept > 400 && kept < 600) << kept;
  }
  for (const Expression& e : {random_gumbel(graph_, dim), random_gumbel(graph_, dim, 0, 1, cpu_)}) {
    double sum = 0;
    for (const float value : as_vector(e.value())) sum += value;
    EXPECT_NEAR(sum / 1000, 0.577, 0.2);
  }
  const Floats rows = as_vector(dropout_dim(ones(graph_, {2, 50}), 0, 0.5f).value());
  for (std::size_t i = 0; i < 100; i += 2) EXPECT_EQ(rows[i], rows[i + 1]);
  const Floats elements = as_vector(dropout_batch(ones(graph_, Dim({2}, 50)), 0.5f).value());
  for (std::size_t i = 0; i < 100; i += 2) EXPECT_EQ(elements[i], elements[i + 1]);
  const Floats block = as_vector(block_dropout(ones(graph_, {50}), 0.5f).value());
  for (const float value : block) EXPECT_EQ(value, block[0]);
}

TEST_F(CompatExprTest, Arithmetic) {
  const Expression x = column({1, 2}), y = column({3, 5}), m = matrix(2, {1, 2, 3, 4});
  expect_near(-x, {-1, -2});
  expect_near(x + y, {4, 7});
  expect_near(x + 1, {2, 3});
  expect_near(1 + x, {2, 3});
  expect_near(x - y, {-2, -3});
  expect_near(1 - x, {0, -1});
  expect_near(x - 1, {0, 1});
  expect_near(m * x, {7, 10});
  expect_near(x * 2, {2, 4});
  expect_near(2.0f * x, {2, 4});
  expect_near(x / 2, {0.5f, 1});
  expect_near(x / y, {1 / 3.0f, 0.4f});
  expect_near(affine_transform({y, m, x}), {10, 15});
  expect_near(affine_transform(std::vector<Expression>{y, m, x}), {10, 15});
  expect_near(sum({x, y}), {4, 7});
  expect_near(sum(std::vector<Expression>{x, y}), {4, 7});
  expect_near(average({x, y}), {2, 3.5f});
  expect_near(average(std::vector<Expression>{x, y}), {2, 3.5f});
  expect_near(dot_product(x, y), {13});
  expect_near(circ_conv(x, y), {13, 11});
  expect_near(circ_corr(x, y), {13, 11});
  expect_near(cmult(x, y), {3, 10});
  expect_near(cdiv(y, x), {3, 2.5f});
  expect_near(colwise_add(m, x), {2, 4, 4, 6});
  expect_near(pow(x, y), {1, 32});
  expect_near(min(x, y), {1, 2});
  expect_near(max(x, y), {3, 5});
  expect_near(max({x, y}), {3, 5});
  expect_near(max(std::vector<Expression>{x, y}), {3, 5});
  expect_near(squared_norm(x), {5});
  expect_near(l2_norm(column({3, 4})), {5});
  expect_near(squared_distance(x, y), {13});
  expect_near(trace_of_product(m, m), {30});
  expect_near(inverse(matrix(2, {2, 0, 0, 4})), {0.5f, 0, 0, 0.25f});
  expect_near(logdet(matrix(2, {2, 0, 0, 4})), {std::log(8.0f)});
  const Expression cube3 = input(graph_, {1, 2, 2}, {1, 2, 3, 4});
  expect_near(contract3d_1d(cube3, x), {7, 10});
  expect_near(contract3d_1d(cube3, x, matrix(1, {1, 1})), {8, 11});
  expect_near(contract3d_1d_1d(cube3, x, y), {71});
  expect_near(contract3d_1d_1d(cube3, x, y, column({1})), {72});
}

TEST_F(CompatExprTest, Reductions) {
  const Expression x = column({1, 3}), m = matrix(2, {1, 2, 3, 4}), b = batch(2, {1, 3});
  expect_near(sum_elems(x), {4});
  expect_near(moment_elems(x, 2), {5});
  expect_near(mean_elems(x), {2});
  expect_near(std_elems(x), {1});
  expect_near(sum_batches(b), {4});
  expect_near(moment_batches(b, 2), {5});
  expect_near(mean_batches(b), {2});
  expect_near(std_batches(b), {1});
  expect_near(sum_dim(m, {0}), {3, 7});
  expect_near(sum_dim(b, {0}, true), {4});
  expect_near(sum_rows(m), {3, 7});
  expect_near(sum_cols(m), {4, 6});
  expect_near(cumsum(x, 0), {1, 4});
  expect_near(moment_dim(m, {0}, 2), {2.5f, 12.5f});
  expect_near(moment_dim(m, {0}, 2, false, 1), {5, 25});
  expect_near(mean_dim(m, {0}), {1.5f, 3.5f});
  expect_near(mean_dim(m, {0}, false, 1), {3, 7});
  expect_near(std_dim(m, {0}), {0.5f, 0.5f});
  expect_near(std_dim(m, {0}, false, 2), {0.5f, 0.5f});
  expect_near(logsumexp_dim(m, 0), {2.313262f, 4.313262f});
  expect_near(logsumexp({x, x}), {1.693147f, 3.693147f});
  expect_near(logsumexp(std::vector<Expression>{x, x}), {1.693147f, 3.693147f});
  expect_near(max_dim(m), {2, 4});
  expect_near(min_dim(m, 1), {1, 2});
  expect_near(argmax(m, zero_gradient), {0, 1, 0, 1});
  expect_near(argmax(m, straight_through_gradient), {0, 1, 0, 1});
  expect_near(average_cols(m), {2, 3});
}

TEST_F(CompatExprTest, ElementByElement) {
  const struct {
    Expression (*function)(const Expression&);
    double (*plain)(double);
  } functions[] = {
      {sqrt, std::sqrt},
      {abs, std::fabs},
      {erf, std::erf},
      {asin, std::asin},
      {acos, std::acos},
      {atan, std::atan},
      {sin, std::sin},
      {cos, std::cos},
      {tan, std::tan},
      {sinh, std::sinh},
      {cosh, std::cosh},
      {tanh, std::tanh},
      {asinh, std::asinh},
      {atanh, std::atanh},
      {exp, std::exp},
      {lgamma, std::lgamma},
      {log, std::log},
      {square, [](double x) { return x * x; }},
      {cube, [](double x) { return x * x * x; }},
      {log_sigmoid, [](double x) { return -std::log1p(std::exp(-x)); }},
      {logistic, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {rectify, [](double x) { return x; }},
      {selu, [](double x) { return 1.0507009873554805 * x; }},
      {softsign, [](double x) { return x / (1 + x); }},
      {nobackprop, [](double x) { return x; }},
      {flip_gradient, [](double x) { return x; }},
  };
  for (const auto& [function, plain] : functions) {
    expect_near(function(column({0.25f, 0.5f})),
                {static_cast<float>(plain(0.25)), static_cast<float>(plain(0.5))});
  }
  const Expression x = column({-1, 2});
  expect_near(acosh(column({2})), {std::acosh(2.0f)});
  expect_near(elu(x), {std::expm1(-1.0f), 2});
  expect_near(elu(x, 2), {2 * std::expm1(-1.0f), 2});
  expect_near(silu(x), {-1 / (1 + std::exp(1.0f)), 2 / (1 + std::exp(-2.0f))});
  expect_near(silu(x, 2), {-1 / (1 + std::exp(2.0f)), 2 / (1 + std::exp(-4.0f))});
  expect_near(scale_gradient(x, 3), {-1, 2});
  const Expression y = column({-1.5f, 2.4f});
  expect_near(round(y, zero_gradient), {-2, 2});
  expect_near(ceil(y, GradientMode::straight_through_gradient), {-1, 3});
  expect_near(floor(y, zero_gradient), {-2, 2});
}

TEST_F(CompatExprTest, SoftmaxAndLosses) {
  const Expression x = column({1, 2, 4}), m = matrix(3, {1, 2, 4, 0, 1, 3});
  const float sum = std::exp(1.0f) + std::exp(2.0f) + std::exp(4.0f), ln = std::log(sum);
  unsigned index = 1;
  std::vector<unsigned> indices = {1, 0};
  const std::vector<std::vector<unsigned>> nested = {{1, 0}};
  expect_near(softmax(x), {std::exp(1.0f) / sum, std::exp(2.0f) / sum, std::exp(4.0f) / sum});
  expect_near(sum_elems(softmax(m, 1)), {3});
  expect_near(log_softmax(x), {1 - ln, 2 - ln, 4 - ln});
  expect_near(pick(log_softmax(x, {0, 1}), 1u), {2 - std::log(std::exp(1.0f) + std::exp(2.0f))});
  const Expression b = batch(2, {1, 2, 4, 1, 2, 4});
  expect_near(pickneglogsoftmax(x, 1), {ln - 2});
  expect_near(pickneglogsoftmax(x, &index), {ln - 2});
  expect_near(pickneglogsoftmax(b, indices), {ln - 2, ln - 1});
  expect_near(pickneglogsoftmax(b, &indices), {ln - 2, ln - 1});
  expect_near(hinge(x, 1), {3});
  expect_near(hinge(x, &index, 2), {5});
  expect_near(hinge(b, indices), {3, 6});
  expect_near(hinge(b, &indices, 1), {3, 6});
  expect_near(hinge_dim(m, indices), {3, 6});
  expect_near(hinge_dim(m, &indices, 0, 1), {3, 6});
  expect_near(hinge_dim(m, nested), {3, 6});
  expect_near(hinge_dim(m, &nested), {3, 6});
  expect_near(sparsemax(x), {0, 0, 1});
  expect_near(sparsemax_loss(x, std::vector<unsigned>{2}), {0});
  const std::vector<unsigned> target = {2};
  expect_near(sparsemax_loss(x, &target), {0});
  expect_near(constrained_softmax(x, column({1, 1, 0.5f})),
              {0.5f / (1 + std::exp(1.0f)), 0.5f / (1 + std::exp(-1.0f)), 0.5f});
  const Expression p = column({0.5f, 0.5f, 0.5f}), y = column({0, 1, 1});
  expect_near(binary_log_loss(p, y), {3 * std::log(2.0f)});
  expect_near(l1_distance(x, y), {5});
  expect_near(huber_distance(x, y), {0.5f + 0.5f + 1.345f * (3 - 1.345f / 2)});
  expect_near(huber_distance(x, y, 10), {0.5f + 0.5f + 4.5f});
  expect_near(pairwise_rank_loss(column({2}), column({1.5f})), {0.5f});
  expect_near(pairwise_rank_loss(column({2}), column({1.5f}), 2), {1.5f});
  index = 2;
  const float poisson = std::exp(1.5f) - 3 + std::log(2.0f);
  expect_near(poisson_loss(column({1.5f}), 2), {poisson});
  expect_near(poisson_loss(column({1.5f}), &index), {poisson});
}

TEST_F(CompatExprTest, Shapes) {
  const Expression x = column({1, 2}), y = column({3, 4}), m = matrix(2, {1, 2, 3, 4});
  const Expression b = batch(2, {1, 2, 3, 4});
  unsigned v = 1;
  const std::vector<unsigned> one = {1}, both = {1, 0};
  expect_near(reshape(m, {4}), {1, 2, 3, 4});
  expect_near(transpose(m), {1, 3, 2, 4});
  expect_near(transpose(m, {1, 0}), {1, 3, 2, 4});
  expect_near(select_rows(m, one), {2, 4});
  expect_near(select_rows(m, &one), {2, 4});
  expect_near(select_cols(m, one), {3, 4});
  expect_near(select_cols(m, &one), {3, 4});
  expect_near(pick(x, 1), {2});
  expect_near(pick(m, 1, 1), {3, 4});
  expect_near(pick(b, both), {2, 3});
  expect_near(pick(x, &v), {2});
  expect_near(pick(b, &both, 0), {2, 3});
  expect_near(pick_range(x, 1, 2), {2});
  expect_near(pick_range(m, 1, 2, 1), {3, 4});
  expect_near(pickrange(x, 1, 2), {2});
  expect_near(pick_batch_elem(b, 1), {3, 4});
  expect_near(pick_batch_elem(b, &v), {3, 4});
  expect_near(pick_batch_elems(b, both), {3, 4, 1, 2});
  expect_near(pick_batch_elems(b, &both), {3, 4, 1, 2});
  expect_near(concatenate_to_batch({x, y}), {1, 2, 3, 4});
  expect_near(concatenate_to_batch(std::vector<Expression>{x, y}), {1, 2, 3, 4});
  expect_near(strided_select(m, {2}), {1, 3});
  expect_near(strided_select(m, {1, 1}, {0, 1}), {3, 4});
  expect_near(strided_select(m, {1, 1}, {0, 0}, {1, 2}), {1, 3});
  expect_near(concatenate_cols({x, y}), {1, 2, 3, 4});
  expect_near(concatenate_cols(std::vector<Expression>{x, y}), {1, 2, 3, 4});
  expect_near(concatenate({x, y}), {1, 2, 3, 4});
  expect_near(concatenate({x, y}, 1), {1, 2, 3, 4});
  expect_near(concatenate(std::vector<Expression>{x, y}), {1, 2, 3, 4});
  expect_near(kmax_pooling(m, 1), {3, 4});
  expect_near(kmax_pooling(m, 1, 0), {2, 4});
  expect_near(fold_rows(m), {3, 7});
  expect_near(fold_rows(m, 1), {1, 2, 3, 4});
  expect_near(kmh_ngram(m, 2), {4, 6});
}

// DyNet says so when the value is computed; here the line that is wrong throws.
TEST_F(CompatExprTest, IndicesAreCheckedWhenTheyAreGiven) {
  const Expression x = column({1, 2}), m = matrix(2, {1, 2, 3, 4});
  const std::vector<unsigned> rows = {1, 2};
  EXPECT_THROW(select_rows(m, rows), std::invalid_argument);
  EXPECT_THROW(select_cols(m, rows), std::invalid_argument);
  EXPECT_THROW(pick(x, 2), std::invalid_argument);
  EXPECT_THROW(pick_range(x, 1, 3), std::invalid_argument);
  EXPECT_THROW(pickneglogsoftmax(x, 2), std::invalid_argument);
  EXPECT_THROW(hinge(x, 2), std::invalid_argument);
  // Behind pointers there may be other numbers until then.
  const unsigned two = 2;
  for (const Expression& later : {select_rows(m, &rows), select_cols(m, &rows), pick(x, &two),
                                  pickneglogsoftmax(x, &two), hinge(x, &two)}) {
    EXPECT_THROW(later.value(), std::invalid_argument);
  }
}

TEST_F(CompatExprTest, ConvolutionsAndNorms) {
  const Expression m = matrix(2, {1, 2, 3, 4});
  expect_near(filter1d_narrow(m, matrix(2, {1, 1})), {3, 7});
  const Expression image = reshape(m, {2, 2, 1});
  const Expression filter = input(graph_, {1, 2, 1, 1}, {1, 10});
  expect_near(conv2d(image, filter, {1, 1}), {31, 42});
  expect_near(conv2d(image, filter, {1, 1}, false), {31, 42, 3, 4});
  expect_near(conv2d(image, filter, column({5}), {1, 1}), {36, 47});
  expect_near(maxpooling2d(image, {2, 2}, {1, 1}), {4});
  expect_near(maxpooling2d(image, {2, 2}, {2, 2}, false), {4});
  expect_near(layer_norm(column({1, 3}), column({2, 2}), column({5, 5})), {3, 7});
  expect_near(weight_norm(column({3, 4}), column({10})), {6, 8});
}

TEST_F(CompatExprTest, StepsOfTheVanillaLstm) {
  const Expression x = column({1}), h = column({0}), c = column({0.5f}), mask = column({1});
  const Expression wx = matrix(4, {0, 0, 0, 1}), wh = matrix(4, {0, 0, 0, 0});
  const Expression b = column({0, 0, 0, 0});
  const Expression gates = vanilla_lstm_gates(x, h, wx, wh, b);
  const float forget = 1 / (1 + std::exp(-1.0f)), g = std::tanh(1.0f);
  expect_near(gates, {0.5f, forget, 0.5f, g});
  expect_near(vanilla_lstm_gates(x, h, wx, wh, b, 0.0f), {0.5f, forget, 0.5f, g});
  expect_near(vanilla_lstm_gates_concat({x}, h, wx, wh, b), {0.5f, forget, 0.5f, g});
  expect_near(vanilla_lstm_gates_dropout(x, h, wx, wh, b, mask, mask), {0.5f, forget, 0.5f, g});
  expect_near(vanilla_lstm_gates_dropout_concat({x}, h, wx, wh, b, mask, mask),
              {0.5f, forget, 0.5f, g});
  const float cell = forget * 0.5f + 0.5f * g;
  expect_near(vanilla_lstm_c(c, gates), {cell});
  expect_near(vanilla_lstm_h(column({cell}), gates), {0.5f * std::tanh(cell)});
}

TEST_F(CompatExprTest, NamesOfDyNet1) {
  using namespace dynet::expr;
  expect_near(dynet::expr::tanh(column({0})), {0});
  const auto check = [](int n) { DYNET_ARG_CHECK(n > 1, "need more than 1; got " << n); };
  EXPECT_NO_THROW(check(2));
  EXPECT_THROW(check(1), std::invalid_argument);
  EXPECT_THROW(DYNET_ASSERT(false, "never " << 1), std::runtime_error);
}

TEST_F(CompatExprTest, MembersOfAnExpression) {
  const Expression empty;
  EXPECT_TRUE(empty.is_stale());
  const Expression x = column({1, 2});
  EXPECT_EQ(x.pg, &graph_);
  EXPECT_FALSE(x.is_stale());
  EXPECT_EQ(x.dim(), Dim({2}));
  const Expression same(&graph_, x.i);
  EXPECT_EQ(as_vector(same.value()), (Floats{1, 2}));
  graph_.backward(sum_elems(x), true);
  EXPECT_EQ(as_vector(x.gradient()), (Floats{1, 1}));
  graph_.clear();
  EXPECT_TRUE(x.is_stale());
}

}  // namespace
