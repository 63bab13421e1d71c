// Every function of <dynet/expr.h>, every class of <dynet/nodes.h> and every way to add a source to
// a graph: each line has the spellings of a call that DyNet's programs use, and what they must
// give: numbers, or the result of the library's function, which tests/ops compares with its
// formula.
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/nodes.h>

#include "dynet_like/graph/minibatch.h"
#include "tests/support/precompiled.h"

namespace {

using namespace dynet;
using Floats = std::vector<float>;
using Integers = std::vector<unsigned>;
using Xs = std::vector<Expression>;

class CompatCallsTest : public testing::Test {
 protected:
  Floats values(const Expression& e) { return as_vector(e.value()); }
  Floats values(VariableIndex i) { return as_vector(graph.get_value(i)); }

  /// All calls give these numbers.
  template <class... Calls>
  void expect(const Floats& numbers, const Calls&... calls) {
    unsigned which = 0;
    const auto compare = [&](const Floats& got) {
      ASSERT_EQ(got.size(), numbers.size()) << "call " << which;
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_NEAR(got[i], numbers[i], 1e-5 * (1 + std::abs(numbers[i])))
            << "element " << i << " of call " << which << ", which should be "
            << testing::PrintToString(numbers);
      }
      ++which;
    };
    (compare(values(calls)), ...);
  }
  /// All calls give the bits and the shape of the library's.
  template <class... Calls>
  void same(const Expression& ours, const Calls&... calls) {
    const auto compare = [&](const Expression& call) {
      EXPECT_EQ(call.dim(), ours.dim()) << ours;
      EXPECT_EQ(values(call), values(ours)) << ours;
    };
    (compare(call_of(calls)), ...);
  }

  /// A node of a class, made in all ways.
  template <class Node, class... Side>
  Expression node(const Xs& xs, const Side&... side) {
    std::vector<VariableIndex> arguments;
    for (const Expression& x : xs) arguments.push_back(x.i);
    const Expression result(&graph, graph.add_function<Node>(arguments, side...));
    same(result, graph.add_function<Node>(default_device, arguments, side...));
    if (!xs.empty()) same(result, detail::f<Node>(xs, side...));
    return result;
  }

  Expression input_of(const Dim& dim, const Floats& numbers) { return input(graph, dim, numbers); }

  ComputationGraph graph;
  Device* const device = default_device;
  const Expression x = input_of({4}, {0.1f, 0.4f, 0.2f, 0.3f});
  const Expression y = input_of({4}, {0.4f, 0.3f, 0.9f, 0.2f});
  const Expression s = input(graph, 0.5f);
  const Expression two = input_of({2}, {1, 2}), five = input_of({2}, {3, 5});
  const Expression m = input_of({2, 2}, {1, 2, 3, 5});
  const Expression many = input_of(Dim({4}, 2), {1, 2, 3, 4, 5, 6, 7, 9});
  const Expression image = input_of({3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Expression filter = input_of({2, 2, 1, 1}, {1, 2, 3, 4});
  const Expression cube3 = input_of({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  // Integers, which calls also read behind pointers.
  const unsigned one = 1;
  const Integers rows = {1, 0};

 private:
  static Expression call_of(const Expression& e) { return e; }
  Expression call_of(VariableIndex i) { return Expression(&graph, i); }
};

TEST_F(CompatCallsTest, Sources) {
  const real number = 1.5f;
  const Floats pair = {1, 2};
  expect({1.5f}, input(graph, 1.5f), input(graph, 1.5f, device), graph.add_input(1.5f),
         input(graph, &number), input(graph, &number, device), graph.add_input(&number));
  expect(pair, input(graph, {2}, pair), input(graph, {2}, pair, device), input(graph, {2}, &pair),
         input(graph, {2}, &pair, device), graph.add_input({2}, pair), graph.add_input({2}, &pair));
  expect({0, 5, 0}, input(graph, {3}, {1}, {5}));
  expect({2, 5, 2}, input(graph, {3}, {1}, {5}, 2.0f), input(graph, {3}, {1}, {5}, 2.0f, device),
         graph.add_input({3}, {1}, {5}, device, 2));
  expect({0, 1, 0}, one_hot(graph, 3, 1), one_hot(graph, 3, 1, device));
  expect({0, 1, 1, 0}, one_hot(graph, 2, rows), one_hot(graph, 2, rows, device));
  expect({0, 0}, zeros(graph, {2}), zeros(graph, {2}, device), zeroes(graph, {2}),
         zeroes(graph, {2}, device));
  expect({1, 1}, ones(graph, {2}), ones(graph, {2}, device));
  expect({3, 3}, constant(graph, {2}, 3), constant(graph, {2}, 3, device),
         node<Constant>({}, Dim({2}), 3.0f));
  same(x, to_device(x, device), node<ToDevice>({x}, device));
}

TEST_F(CompatCallsTest, Parameters) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({2}, ParameterInitFromVector({1, 2}));
  const LookupParameter t =
      model.add_lookup_parameters(2, {2}, ParameterInitFromVector({3, 4, 5, 6}));
  expect({1, 2}, parameter(graph, p), const_parameter(graph, p), graph.add_parameters(p),
         graph.add_const_parameters(p));
  expect({3, 4, 5, 6}, parameter(graph, t), const_parameter(graph, t), graph.add_parameters(t),
         graph.add_const_parameters(t));
  expect({5, 6}, lookup(graph, t, 1), lookup(graph, t, &one), graph.add_lookup(t, 1u),
         graph.add_lookup(t, &one));
  expect({5, 6}, const_lookup(graph, t, 1), const_lookup(graph, t, &one),
         graph.add_const_lookup(t, 1u), graph.add_const_lookup(t, &one));
  expect({5, 6, 3, 4}, lookup(graph, t, rows), lookup(graph, t, &rows), graph.add_lookup(t, rows),
         graph.add_lookup(t, &rows));
  expect({5, 6, 3, 4}, const_lookup(graph, t, rows), const_lookup(graph, t, &rows),
         graph.add_const_lookup(t, rows), graph.add_const_lookup(t, &rows));
  const VariableIndex last = graph.add_const_lookup(t, &rows);
  EXPECT_EQ(graph.get_dimension(last), Dim({2}, 2));
  EXPECT_THROW(Expression(&graph, last + 1), std::invalid_argument);
  // Constants have no gradient.
  std::vector<Expression> sums;
  for (const VariableIndex i :
       {const_parameter(graph, p).i, graph.add_const_parameters(p), const_parameter(graph, t).i,
        graph.add_const_parameters(t), const_lookup(graph, t, 1).i, graph.add_const_lookup(t, 1u),
        const_lookup(graph, t, &one).i, graph.add_const_lookup(t, &one),
        const_lookup(graph, t, rows).i, graph.add_const_lookup(t, rows), last}) {
    sums.push_back(sum_batches(sum_elems(Expression(&graph, i))));
  }
  graph.backward(sum(sums));
  EXPECT_FALSE(p.p->has_grad());
  EXPECT_FALSE(t.p->has_grad());
}

// Distributions that leave nothing to chance.
TEST_F(CompatCallsTest, RandomNumbers) {
  const Dim dim({3});
  expect({2, 2, 2}, random_uniform(graph, dim, 2, 2), random_uniform(graph, dim, 2, 2, device),
         node<RandomUniform>({}, dim, 2.0f, 2.0f));
  expect({4, 4, 4}, random_normal(graph, dim, 4, 0), random_normal(graph, dim, 4, 0, device),
         node<RandomNormal>({}, dim, 4.0f, 0.0f));
  expect({4, 4, 4}, random_bernoulli(graph, dim, 1, 4), random_bernoulli(graph, dim, 1, 4, device),
         node<RandomBernoulli>({}, dim, 1.0f, 4.0f));
  expect({4, 4, 4}, random_gumbel(graph, dim, 4, 0), random_gumbel(graph, dim, 4, 0, device));
  EXPECT_EQ(Expression(&graph, graph.add_function<RandomGumbel>({}, dim)).dim(), dim);
  same(x, dropout(x, 0), node<Dropout>({x}, 0.0f), noise(x, 0), node<GaussianNoise>({x}, 0.0f));
  same(m, dropout_dim(m, 1, 0), node<DropoutDim>({m}, 1u, 0.0f));
  same(many, dropout_batch(many, 0), node<DropoutBatch>({many}, 0.0f));
  same(x, block_dropout(x, 0), node<BlockDropout>({x}, 0.0f));
  const auto expect_masked = [&](const Expression& masked) {
    const Floats kept = values(masked), all = values(many);
    EXPECT_NE(kept, all);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(kept[i] == 0 || kept[i] == 8 * all[i]);
  };
  expect_masked(dropout(many, 0.875f));
  expect_masked(Expression(&graph, graph.add_function<Dropout>({many.i}, 0.875f)));
}

TEST_F(CompatCallsTest, Arithmetic) {
  expect({-1, -2}, -two, node<Negate>({two}));
  expect({4, 7}, two + five, sum({two, five}), sum(Xs{two, five}), node<Sum>({two, five}),
         node<CwiseSum>({two, five}));
  expect({2, 3}, two + 1, 1 + two, two + 1.0, node<ConstantPlusX>({two}, 1.0f),
         node<ScalarAdd>({two, input(graph, 1.0f)}));
  expect({-2, -3}, two - five);
  expect({0, -1}, 1 - two, node<ConstantMinusX>({two}, 1.0f));
  expect({0, 1}, two - 1);
  expect({7, 12}, m * two, node<MatrixMultiply>({m, two}));
  expect({0.5f, 1}, two * 0.5f, 0.5f * two, two / 2, node<ConstScalarMultiply>({two}, 0.5f),
         node<ScalarMultiply>({s, two}), node<ScalarQuotient>({two, input(graph, 2.0f)}));
  expect({1 / 3.0f, 0.4f}, two / five, cdiv(two, five), node<CwiseQuotient>({two, five}));
  expect({10, 17}, affine_transform({five, m, two}), affine_transform(Xs{five, m, two}),
         node<AffineTransform>({five, m, two}));
  expect({2, 3.5f}, average({two, five}), average(Xs{two, five}), node<Average>({two, five}));
  expect({3, 10}, cmult(two, five), node<CwiseMultiply>({two, five}));
  expect({2, 4, 4, 7}, colwise_add(m, two), node<AddVectorToAllColumns>({m, two}));
  expect({1, 32}, pow(two, five), node<Pow>({two, five}));
  expect({1, 2}, min(two, five), node<Min>({two, five}));
  expect({3, 5}, max(two, five), max({two, five}), max(Xs{two, five}), node<Max>({two, five}));
  expect({13}, dot_product(two, five), node<DotProduct>({two, five}), squared_distance(two, five),
         node<SquaredEuclideanDistance>({two, five}));
  expect({13, 11}, circ_conv(two, five), node<CircularConvolution>({two, five}));
  same(circ_corr(x, y), node<CircularCorrelation>({x, y}));
  expect({39}, trace_of_product(m, m), node<TraceOfProduct>({m, m}));
  same(inverse(m), node<MatrixInverse>({m}));
  const Expression positive = input_of({2, 2}, {5, 2, 1, 3});
  expect({std::log(13.0f)}, logdet(positive), node<LogDet>({positive}));
  same(contract3d_1d(cube3, two), node<InnerProduct3D_1D>({cube3, two}));
  same(contract3d_1d(cube3, two, m), node<InnerProduct3D_1D>({cube3, two, m}));
  same(contract3d_1d_1d(cube3, two, two), node<InnerProduct3D_1D_1D>({cube3, two, two}));
  same(contract3d_1d_1d(cube3, two, two, two), node<InnerProduct3D_1D_1D>({cube3, two, two, two}));
}

TEST_F(CompatCallsTest, Reductions) {
  const Integers first = {0};
  expect({1}, sum_elems(x), node<SumElements>({x}));
  expect({0.075f}, moment_elems(x, 2), node<MomentElements>({x}, 2u));
  expect({0.25f}, mean_elems(x));
  same(std_elems(x), node<StdElements>({x}));
  expect({6, 8, 10, 13}, sum_batches(many), node<SumBatches>({many}));
  expect({13, 20, 29, 48.5f}, moment_batches(many, 2), node<MomentBatches>({many}, 2u));
  expect({3, 4, 5, 6.5f}, mean_batches(many));
  expect({2, 2, 2, 2.5f}, std_batches(many), node<StdBatches>({many}));
  expect({3, 8}, sum_dim(m, {0}), sum_rows(m), node<SumDimension>({m}, first));
  expect({37}, sum_dim(many, {0}, true));
  expect({4, 7}, sum_cols(m));
  expect({1, 3, 3, 8}, cumsum(m, 0), node<CumulativeSum>({m}, 0u));
  expect({2.5f, 17}, moment_dim(m, {0}, 2), node<MomentDimension>({m}, first, 2u));
  expect({5, 34}, moment_dim(m, {0}, 2, false, 1));
  expect({1.5f, 4}, mean_dim(m, {0}));
  expect({3, 8}, mean_dim(m, {0}, false, 1));
  expect({0.5f, 1}, std_dim(m, {0}), std_dim(m, {0}, false, 2), node<StdDimension>({m}, first));
  expect({2, 3.5f}, average_cols(m), node<AverageColumns>({m}));
  expect({2, 5}, max_dim(m), node<MaxDimension>({m}));
  expect({1, 2}, min_dim(m, 1), node<MinDimension>({m}, 1u));
  expect({5}, squared_norm(two), node<SquaredNorm>({two}));
  expect({std::sqrt(5.0f)}, l2_norm(two), node<L2Norm>({two}));
  same(weight_norm(x, s), node<WeightNormalization>({x, s}));
  expect({3, 7}, layer_norm(input_of({2}, {1, 3}), input_of({2}, {2, 2}), input_of({2}, {5, 5})));
  same(logsumexp_dim(m, 1), node<LogSumExpDimension>({m}, 1u));
  same(logsumexp({x, y}), logsumexp(Xs{x, y}), node<LogSumExp>({x, y}));
}

TEST_F(CompatCallsTest, ElementByElement) {
  same(tanh(x), node<Tanh>({x}));
  same(sin(x), node<Sin>({x}));
  same(cos(x), node<Cos>({x}));
  same(tan(x), node<Tan>({x}));
  same(asin(x), node<Asin>({x}));
  same(acos(x), node<Acos>({x}));
  same(atan(x), node<Atan>({x}));
  same(sinh(x), node<Sinh>({x}));
  same(cosh(x), node<Cosh>({x}));
  same(asinh(x), node<Asinh>({x}));
  same(acosh(many), node<Acosh>({many}));
  same(atanh(x), node<Atanh>({x}));
  same(sqrt(x), node<Sqrt>({x}));
  same(abs(-x), node<Abs>({-x}));
  same(square(x), node<Square>({x}));
  same(cube(x), node<Cube>({x}));
  same(exp(x), node<Exp>({x}));
  same(log(x), node<Log>({x}));
  same(log_sigmoid(x), node<LogSigmoid>({x}));
  same(lgamma(x), node<LogGamma>({x}));
  same(erf(x), node<Erf>({x}));
  same(softsign(x), node<SoftSign>({x}));
  same(dynet_like::relu(x - 0.25f), rectify(x - 0.25f), node<Rectify>({x - 0.25f}));
  same(dynet_like::sigmoid(x), logistic(x), node<LogisticSigmoid>({x}));
  same(2.0f * elu(-x, 3.0f), node<ExponentialLinearUnit>({-x}, 2.0f, 3.0f));
  same(silu(x, 2.0f), node<SigmoidLinearUnit>({x}, 2.0f));
  expect(values(1.0507009873554805f * x), selu(x));
  same(x, node<Identity>({x}), nobackprop(x), node<NoBackprop>({x}), flip_gradient(x),
       node<FlipGradient>({x}), scale_gradient(x, 2.0f), node<ScaleGradient>({x}, 2.0f));
  for (const bool straight : {false, true}) {
    const GradientMode mode = straight ? straight_through_gradient : zero_gradient;
    same(round(two / 3, mode), node<Round>({two / 3}, straight));
    same(ceil(two / 3, mode), node<Ceil>({two / 3}, straight));
    same(floor(two / 3, mode), node<Floor>({two / 3}, straight));
    expect({0, 1, 0, 0}, argmax(x, mode), node<Argmax>({x}, 0u, straight));
  }
}

TEST_F(CompatCallsTest, SoftmaxAndLosses) {
  const Integers classes = {1, 3}, line = {1, 0};
  const std::vector<Integers> nested = {line};
  same(softmax(x), node<Softmax>({x}));
  same(softmax(m, 1), node<Softmax>({m}, 1u));
  same(log_softmax(x), node<LogSoftmax>({x}));
  same(log_softmax(x, classes), node<RestrictedLogSoftmax>({x}, classes));
  same(sparsemax(x), node<Sparsemax>({x}));
  same(sparsemax_loss(x, classes), sparsemax_loss(x, &classes), node<SparsemaxLoss>({x}, classes),
       node<SparsemaxLoss>({x}, &classes));
  same(constrained_softmax(x, y), node<ConstrainedSoftmax>({x, y}));
  same(dynet_like::cross_entropy(x, 1), pickneglogsoftmax(x, 1), pickneglogsoftmax(x, &one),
       node<PickNegLogSoftmax>({x}, 1), node<PickNegLogSoftmax>({x}, &one));
  same(dynet_like::cross_entropy(many, classes), pickneglogsoftmax(many, classes),
       pickneglogsoftmax(many, &classes), node<PickNegLogSoftmax>({many}, classes),
       node<PickNegLogSoftmax>({many}, &classes));
  same(hinge(x, 1), hinge(x, &one, 1), node<Hinge>({x}, one));
  same(hinge(x, 1, 0.5f), hinge(x, &one, 0.5f), node<Hinge>({x}, one, 0.5f));
  same(hinge(many, classes), hinge(many, &classes), node<Hinge>({many}, &classes));
  same(hinge_dim(m, line), hinge_dim(m, &line, 0, 1), hinge_dim(m, nested), hinge_dim(m, &nested));
  same(hinge_dim(m, line, 1), node<HingeDim>({m}, line, 1u));
  same(binary_log_loss(x, y), node<BinaryLogLoss>({x, y}));
  same(l1_distance(x, y), node<L1Distance>({x, y}));
  same(huber_distance(x, y, 1.345f), huber_distance(x, y));
  same(huber_distance(x, y, 0.1f), node<HuberDistance>({x, y}, 0.1f));
  same(pairwise_rank_loss(x, y, 1), pairwise_rank_loss(x, y));
  same(pairwise_rank_loss(x, y, 2), node<PairwiseRankLoss>({x, y}, 2.0f));
  same(poisson_loss(s, 1), poisson_loss(s, &one), node<PoissonRegressionLoss>({s}, 1u),
       node<PoissonRegressionLoss>({s}, &one));
}

TEST_F(CompatCallsTest, Shapes) {
  same(reshape(x, {2, 2}), node<Reshape>({x}, Dim({2, 2})));
  expect({1, 3, 2, 5}, transpose(m), transpose(m, {1, 0}), node<Transpose>({m}));
  expect({2, 1, 5, 3}, select_rows(m, rows), select_rows(m, &rows), node<SelectRows>({m}, rows));
  expect({3, 5, 1, 2}, select_cols(m, rows), select_cols(m, &rows), node<SelectCols>({m}, &rows));
  expect({2}, pick(two, 1), pick(two, &one), node<PickElement>({two}, &one));
  expect({3, 5}, pick(m, 1, 1), node<PickElement>({m}, 1, 1u), pick_range(m, 1, 2, 1));
  expect({2, 5}, pick(many, rows), pick(many, &rows, 0), node<PickElement>({many}, rows));
  expect({0.4f, 0.2f}, pick_range(x, 1, 3), pickrange(x, 1, 3), node<PickRange>({x}, 1u, 3u));
  expect({5, 6, 7, 9}, pick_batch_elem(many, 1), pick_batch_elem(many, &one),
         node<PickBatchElements>({many}, 1u));
  same(pick_batch_elems(many, rows), pick_batch_elems(many, &rows),
       node<PickBatchElements>({many}, rows));
  same(concatenate_to_batch({x, y}), concatenate_to_batch(Xs{x, y}),
       node<ConcatenateToBatch>({x, y}));
  same(concatenate({x, y}), concatenate(Xs{x, y}), node<Concatenate>({x, y}));
  same(concatenate({m, m}, 1), concatenate_cols({m, m}), concatenate_cols(Xs{m, m}),
       node<Concatenate>({m, m}, 1u));
  const std::vector<int> strides = {2};
  same(strided_select(x, strides), node<StridedSelect>({x}, strides));
  expect({3, 5}, strided_select(m, {1, 1}, {0, 1}), strided_select(m, {1, 1}, {0, 1}, {2, 2}));
  expect({3, 5}, kmax_pooling(m, 1), node<KMaxPooling>({m}, 1u));
  expect({2, 5}, kmax_pooling(m, 1, 0));
  expect({3, 8}, fold_rows(m), node<FoldRows>({m}, 2u));
  expect({4, 7}, kmh_ngram(m, 2), node<KMHNGram>({m}, 2u));
}

TEST_F(CompatCallsTest, Windows) {
  const Expression narrow = input_of({2, 1, 2}, {1, 2, 3, 4}), b = input_of({1}, {3});
  same(filter1d_narrow(m, narrow), node<Filter1DNarrow>({m, narrow}));
  const Integers ones = {1, 1}, twos = {2, 2};
  same(conv2d(image, filter, ones), node<Conv2D>({image, filter}, ones));
  same(conv2d(image, filter, ones, false), node<Conv2D>({image, filter}, ones, false));
  same(conv2d(image, filter, b, ones), node<Conv2D>({image, filter, b}, ones));
  same(conv2d(image, filter, b, ones, false), node<Conv2D>({image, filter, b}, ones, false));
  same(maxpooling2d(image, twos, ones), node<MaxPooling2D>({image}, twos, ones));
  same(maxpooling2d(image, twos, twos, false), node<MaxPooling2D>({image}, twos, twos, false));
}

TEST_F(CompatCallsTest, StepsOfTheVanillaLstm) {
  const Expression h = two, c = two, b = input_of({8}, Floats(8, 1));
  const Expression wx = input_of({8, 4}, Floats(32, 0.1f)), wh = input_of({8, 2}, Floats(16, 0.2f));
  const Expression mask_x = input_of({4}, {0, 2, 0, 2}), mask_h = input_of({2}, {2, 0});
  const Expression gates = vanilla_lstm_gates(x, h, wx, wh, b);
  same(gates, vanilla_lstm_gates(x, h, wx, wh, b, 0.0f),
       vanilla_lstm_gates_concat({x}, h, wx, wh, b),
       node<VanillaLSTMGates>({x, h, wx, wh, b}, false, 0.0f));
  same(vanilla_lstm_gates_dropout(x, h, wx, wh, b, mask_x, mask_h),
       vanilla_lstm_gates_dropout_concat({x}, h, wx, wh, b, mask_x, mask_h),
       node<VanillaLSTMGates>({x, h, wx, wh, b, mask_x, mask_h}, true, 0.0f));
  same(vanilla_lstm_c(c, gates), node<VanillaLSTMC>({c, gates}));
  same(vanilla_lstm_h(c, gates), node<VanillaLSTMH>({c, gates}));
}

TEST_F(CompatCallsTest, ArgumentsOfNodesAreChecked) {
  EXPECT_THROW(graph.add_function<Tanh>({x.i, y.i}), std::invalid_argument);
  EXPECT_THROW(graph.add_function<CwiseSum>({x.i}), std::invalid_argument);
  EXPECT_THROW(graph.add_function<Tanh>({12345u}), std::invalid_argument);
  EXPECT_THROW(graph.add_function<Argmax>({m.i}, 1u), std::invalid_argument);
  EXPECT_THROW(graph.add_function<Constant>({x.i}, Dim({1}), 1.0f), std::invalid_argument);
  EXPECT_THROW(graph.add_function<VanillaLSTMGates>({x.i}, false), std::invalid_argument);
  EXPECT_THROW(graph.add_function<Sum>(std::vector<VariableIndex>()), std::invalid_argument);
}

// DyNet says so when the value is computed; here the line that is wrong throws.
TEST_F(CompatCallsTest, IndicesAreCheckedWhenTheyAreGiven) {
  const unsigned beyond = 2;
  const Integers some = {1, 2};
  EXPECT_THROW(select_rows(m, some), std::invalid_argument);
  EXPECT_THROW(select_cols(m, some), std::invalid_argument);
  EXPECT_THROW(pick(two, 2), std::invalid_argument);
  EXPECT_THROW(pick_range(two, 1, 3), std::invalid_argument);
  EXPECT_THROW(pickneglogsoftmax(two, 2), std::invalid_argument);
  EXPECT_THROW(hinge(two, 2), std::invalid_argument);
  // Behind pointers there may be other numbers until then.
  for (const Expression& later : {select_rows(m, &some), select_cols(m, &some), pick(two, &beyond),
                                  pickneglogsoftmax(two, &beyond), hinge(two, &beyond)}) {
    EXPECT_THROW(later.value(), std::invalid_argument);
  }
}

TEST_F(CompatCallsTest, NamesOfDyNet1) {
  using namespace dynet::expr;
  same(tanh(x), dynet::expr::tanh(x));
  const auto check = [](int n) { DYNET_ARG_CHECK(n > 1, "need more than 1; got " << n); };
  EXPECT_NO_THROW(check(2));
  EXPECT_THROW(check(1), std::invalid_argument);
  EXPECT_THROW(DYNET_ASSERT(false, "never " << 1), std::runtime_error);
}

TEST(CompatNodeListTest, SaysWhatWasRecorded) {
  ComputationGraph graph;
  EXPECT_TRUE(graph.nodes.empty());
  const Expression x = input(graph, {2}, {1, 2}), y = input(graph, {2}, {3, 4});
  const Expression sum = tanh(x + y);
  EXPECT_EQ(graph.nodes.size(), 4u);
  EXPECT_EQ(graph.nodes[sum.i]->dim, Dim({2}));
  EXPECT_EQ(sum.pg->record().tape().size(), 4u);
  EXPECT_EQ(graph.nodes[sum.i]->arity(), 1u);
  const VariableIndex added = graph.nodes[sum.i]->args[0];
  EXPECT_EQ(graph.nodes[added]->args, (std::vector<VariableIndex>{x.i, y.i}));
  EXPECT_EQ(graph.nodes[added]->as_string({"a", "b"}), "add(a, b)");
  EXPECT_EQ(graph.nodes.back()->as_dummy_string(), "tanh(x1)");
  EXPECT_EQ(graph.nodes[0]->device, default_device);
  // In place of a dynamic_cast to Rectify: classes of nodes are not kept.
  EXPECT_EQ(graph.nodes[rectify(x).i]->name, "rectify");
  EXPECT_EQ(graph.nodes[graph.add_function<Rectify>({x.i})]->name, "rectify");
  unsigned elements = 0, edges = 0;
  for (const Node* node : graph.nodes) {
    elements += node->dim.size();
    edges += node->arity();
  }
  EXPECT_EQ(elements, 12u);
  EXPECT_EQ(edges, 5u);
  const Node* const first = graph.nodes[0];
  const Expression part = pick_range(sum, 0, 1);
  EXPECT_EQ(graph.nodes[part.i]->dim, Dim({1}));
  EXPECT_EQ(graph.nodes[part.i]->args, (std::vector<VariableIndex>{sum.i}));
  EXPECT_EQ(graph.nodes[0], first);
  EXPECT_THROW(graph.nodes[99], std::invalid_argument);
  graph.clear();
  EXPECT_EQ(graph.nodes.size(), 0u);
}

// Older programs take everything from the graph of an expression.
TEST(CompatNodeListTest, IsReachedThroughAnExpression) {
  ComputationGraph graph;
  const Expression x = input(graph, {2}, {1, 2});
  ComputationGraph& cg = *x.pg;
  EXPECT_EQ(&cg, &graph);
  ComputationGraph* const pointer = x.pg;
  EXPECT_EQ(pointer->get_dimension(x.i), Dim({2}));
  EXPECT_EQ(cg.nodes[x.i]->dim.rows(), 2u);
  const Expression y(x.pg, cg.add_function<Tanh>({x.i}));
  EXPECT_EQ(as_vector(y.value()), as_vector(tanh(x).value()));
  const Expression z(x.pg, x.pg->add_function<Tanh>({x.i}));
  EXPECT_EQ(as_vector(x.pg->forward(z)), as_vector(y.value()));
  EXPECT_EQ(x.pg->nodes.size(), 4u);
  EXPECT_EQ(x.pg->nodes[z.i]->args, (std::vector<VariableIndex>{x.i}));
  const auto device = dynet_like::default_device();
  EXPECT_EQ(x.get_device_name(), device->is_cpu() ? "CPU" : device->name());
  auto& d = x.dim();
  EXPECT_EQ(d[0], 2u);
  graph.clear();
  EXPECT_THROW(x.value(), std::runtime_error);
  EXPECT_THROW(x.get_device_name(), std::runtime_error);
  dynet_like::Minibatch batch;
  const Expression other = input(batch.new_graph(), 1.0f);
  EXPECT_THROW([[maybe_unused]] ComputationGraph& none = *other.pg, std::invalid_argument);
  EXPECT_THROW(other.pg->nodes.size(), std::invalid_argument);
}

}  // namespace
