// <dynet/nodes.h>: node classes, and what a graph has recorded.
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/nodes.h>
#include <gtest/gtest.h>

#include "dynet_like/graph/minibatch.h"

namespace {

using namespace dynet;
using Floats = std::vector<float>;

class CompatNodesTest : public testing::Test {
 protected:
  // The node of a class computes what the function does.
  template <class Node, class... Side>
  void expect_same(const std::vector<Expression>& xs, const Expression& expected,
                   const Side&... side) {
    std::vector<VariableIndex> arguments;
    for (const Expression& x : xs) arguments.push_back(x.i);
    const Expression node(&graph, graph.add_function<Node>(arguments, side...));
    EXPECT_EQ(node.dim(), expected.dim());
    EXPECT_EQ(as_vector(node.value()), as_vector(expected.value()));
    const Expression placed(&graph, graph.add_function<Node>(default_device, arguments, side...));
    EXPECT_EQ(as_vector(placed.value()), as_vector(expected.value()));
    if (xs.empty()) return;
    EXPECT_EQ(as_vector(detail::f<Node>(xs, side...).value()), as_vector(expected.value()));
  }

  ComputationGraph graph;
  const Expression x = input(graph, {4}, {0.1f, 0.4f, 0.2f, 0.3f});
  const Expression y = input(graph, {4}, {0.4f, 0.3f, 0.9f, 0.2f});
  const Expression s = input(graph, 0.5f);
  const Expression m = input(graph, {2, 2}, {1, 2, 3, 5});
  const Expression many = input(graph, Dim({4}, 2), {1, 2, 3, 4, 5, 6, 7, 9});
  const Expression image = input(graph, {3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Expression filter = input(graph, {2, 2, 1, 1}, {1, 2, 3, 4});
  const Expression cube3 = input(graph, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Expression two = input(graph, {2}, {1, 2});
};

TEST_F(CompatNodesTest, OneArgument) {
  expect_same<Tanh>({x}, tanh(x));
  expect_same<Sin>({x}, sin(x));
  expect_same<Cos>({x}, cos(x));
  expect_same<Tan>({x}, tan(x));
  expect_same<Asin>({x}, asin(x));
  expect_same<Acos>({x}, acos(x));
  expect_same<Atan>({x}, atan(x));
  expect_same<Sinh>({x}, sinh(x));
  expect_same<Cosh>({x}, cosh(x));
  expect_same<Asinh>({x}, asinh(x));
  expect_same<Acosh>({many}, acosh(many));
  expect_same<Atanh>({x}, atanh(x));
  expect_same<Negate>({x}, -x);
  expect_same<Sqrt>({x}, sqrt(x));
  expect_same<Abs>({-x}, x);
  expect_same<Square>({x}, square(x));
  expect_same<Cube>({x}, cube(x));
  expect_same<Exp>({x}, exp(x));
  expect_same<Log>({x}, log(x));
  expect_same<LogSigmoid>({x}, log_sigmoid(x));
  expect_same<LogGamma>({x}, lgamma(x));
  expect_same<Erf>({x}, erf(x));
  expect_same<Rectify>({-x}, rectify(-x));
  expect_same<LogisticSigmoid>({x}, logistic(x));
  expect_same<SoftSign>({x}, softsign(x));
  expect_same<ExponentialLinearUnit>({-x}, 2.0f * elu(-x, 3.0f), 2.0f, 3.0f);
  expect_same<SigmoidLinearUnit>({x}, silu(x, 2.0f), 2.0f);
  expect_same<SumElements>({x}, sum_elems(x));
  expect_same<MomentElements>({x}, moment_elems(x, 2), 2u);
  expect_same<StdElements>({x}, std_elems(x));
  expect_same<SumBatches>({many}, sum_batches(many));
  expect_same<MomentBatches>({many}, moment_batches(many, 2), 2u);
  expect_same<StdBatches>({many}, std_batches(many));
  const std::vector<unsigned> first = {0};
  expect_same<SumDimension>({m}, sum_dim(m, first), first);
  expect_same<MomentDimension>({m}, moment_dim(m, first, 2), first, 2u);
  expect_same<StdDimension>({m}, std_dim(m, first), first);
  expect_same<CumulativeSum>({m}, cumsum(m, 1), 1u);
  expect_same<AverageColumns>({m}, average_cols(m));
  expect_same<SquaredNorm>({x}, squared_norm(x));
  expect_same<L2Norm>({x}, l2_norm(x));
  expect_same<MatrixInverse>({m}, inverse(m));
  const Expression positive = input(graph, {2, 2}, {5, 2, 1, 3});
  expect_same<LogDet>({positive}, logdet(positive));
  expect_same<Transpose>({m}, transpose(m));
  expect_same<Identity>({x}, x);
  expect_same<NoBackprop>({x}, x);
  expect_same<FlipGradient>({x}, x);
  expect_same<ScaleGradient>({x}, x, 2.0f);
  expect_same<ToDevice>({x}, x, default_device);
}

TEST_F(CompatNodesTest, Softmaxes) {
  expect_same<Softmax>({x}, softmax(x));
  expect_same<Softmax>({m}, softmax(m, 1), 1u);
  expect_same<LogSoftmax>({x}, log_softmax(x));
  const std::vector<unsigned> classes = {1, 3};
  expect_same<RestrictedLogSoftmax>({x}, log_softmax(x, classes), classes);
  expect_same<Sparsemax>({x}, sparsemax(x));
  expect_same<SparsemaxLoss>({x}, sparsemax_loss(x, classes), classes);
  expect_same<SparsemaxLoss>({x}, sparsemax_loss(x, classes), &classes);
  expect_same<ConstrainedSoftmax>({x, y}, constrained_softmax(x, y));
  expect_same<LogSumExp>({x, y}, logsumexp({x, y}));
  expect_same<LogSumExpDimension>({m}, logsumexp_dim(m, 1), 1u);
}

TEST_F(CompatNodesTest, Losses) {
  const unsigned index = 2;
  const std::vector<unsigned> indices = {1, 3};
  expect_same<PickNegLogSoftmax>({x}, pickneglogsoftmax(x, 2), 2);
  expect_same<PickNegLogSoftmax>({x}, pickneglogsoftmax(x, 2), &index);
  expect_same<PickNegLogSoftmax>({many}, pickneglogsoftmax(many, indices), indices);
  expect_same<PickNegLogSoftmax>({many}, pickneglogsoftmax(many, indices), &indices);
  expect_same<Hinge>({x}, hinge(x, 2, 0.5f), index, 0.5f);
  expect_same<Hinge>({many}, hinge(many, indices), &indices);
  expect_same<HingeDim>({m}, hinge_dim(m, {0, 1}, 1), std::vector<unsigned>{0, 1}, 1u);
  expect_same<BinaryLogLoss>({x, y}, binary_log_loss(x, y));
  expect_same<PairwiseRankLoss>({x, y}, pairwise_rank_loss(x, y, 2), 2.0f);
  expect_same<PoissonRegressionLoss>({s}, poisson_loss(s, 3), 3u);
  expect_same<PoissonRegressionLoss>({s}, poisson_loss(s, 2), &index);
  expect_same<DotProduct>({x, y}, dot_product(x, y));
  expect_same<SquaredEuclideanDistance>({x, y}, squared_distance(x, y));
  expect_same<L1Distance>({x, y}, l1_distance(x, y));
  expect_same<HuberDistance>({x, y}, huber_distance(x, y, 0.1f), 0.1f);
}

TEST_F(CompatNodesTest, Arithmetic) {
  expect_same<Sum>({x, y, x}, sum({x, y, x}));
  expect_same<Average>({x, y}, average({x, y}));
  expect_same<ConstantPlusX>({x}, 2 + x, 2.0f);
  expect_same<ConstantMinusX>({x}, 2 - x, 2.0f);
  expect_same<ConstScalarMultiply>({x}, x * 2, 2.0f);
  expect_same<ScalarAdd>({x, s}, x + 0.5f);
  expect_same<ScalarMultiply>({s, x}, x * 0.5f);
  expect_same<ScalarQuotient>({x, s}, x / 0.5f);
  expect_same<CwiseSum>({x, y}, x + y);
  expect_same<CwiseMultiply>({x, y}, cmult(x, y));
  expect_same<CwiseQuotient>({x, y}, cdiv(x, y));
  expect_same<AddVectorToAllColumns>({m, two}, colwise_add(m, two));
  expect_same<Pow>({x, y}, pow(x, y));
  expect_same<Min>({x, y}, min(x, y));
  expect_same<Max>({x, y}, max(x, y));
  expect_same<MinDimension>({m}, min_dim(m, 1), 1u);
  expect_same<MaxDimension>({m}, max_dim(m));
  expect_same<MatrixMultiply>({m, two}, m * two);
  expect_same<AffineTransform>({two, m, two}, affine_transform({two, m, two}));
  expect_same<TraceOfProduct>({m, m}, trace_of_product(m, m));
  expect_same<InnerProduct3D_1D>({cube3, two}, contract3d_1d(cube3, two));
  expect_same<InnerProduct3D_1D>({cube3, two, m}, contract3d_1d(cube3, two, m));
  expect_same<InnerProduct3D_1D_1D>({cube3, two, two}, contract3d_1d_1d(cube3, two, two));
  expect_same<InnerProduct3D_1D_1D>({cube3, two, two, two}, contract3d_1d_1d(cube3, two, two, two));
  expect_same<WeightNormalization>({x, s}, weight_norm(x, s));
  for (const bool straight : {false, true}) {
    const GradientMode mode = straight ? straight_through_gradient : zero_gradient;
    expect_same<Round>({x}, round(x, mode), straight);
    expect_same<Ceil>({x}, ceil(x, mode), straight);
    expect_same<Floor>({x}, floor(x, mode), straight);
    expect_same<Argmax>({x}, argmax(x, mode), 0u, straight);
  }
}

TEST_F(CompatNodesTest, ShapesAndWindows) {
  const unsigned index = 1;
  const std::vector<unsigned> rows = {1, 0};
  expect_same<Reshape>({x}, reshape(x, {2, 2}), Dim({2, 2}));
  expect_same<Concatenate>({x, y}, concatenate({x, y}));
  expect_same<Concatenate>({m, m}, concatenate({m, m}, 1), 1u);
  expect_same<ConcatenateToBatch>({x, y}, concatenate_to_batch({x, y}));
  expect_same<SelectRows>({m}, select_rows(m, rows), rows);
  expect_same<SelectCols>({m}, select_cols(m, rows), &rows);
  expect_same<PickElement>({m}, pick(m, 1u, 1), 1, 1u);
  expect_same<PickElement>({x}, pick(x, 1u), &index);
  expect_same<PickElement>({many}, pick(many, rows), rows);
  expect_same<PickRange>({x}, pick_range(x, 1, 3), 1u, 3u);
  expect_same<PickBatchElements>({many}, pick_batch_elem(many, 1u), 1u);
  expect_same<PickBatchElements>({many}, pick_batch_elems(many, rows), rows);
  const std::vector<int> strides = {2};
  expect_same<StridedSelect>({x}, strided_select(x, strides), strides);
  expect_same<CircularConvolution>({x, y}, circ_conv(x, y));
  expect_same<CircularCorrelation>({x, y}, circ_corr(x, y));
  expect_same<FoldRows>({m}, fold_rows(m), 2u);
  expect_same<KMaxPooling>({m}, kmax_pooling(m, 1), 1u);
  expect_same<KMHNGram>({m}, kmh_ngram(m, 2), 2u);
  const Expression narrow = input(graph, {2, 1, 2}, {1, 2, 3, 4});
  expect_same<Filter1DNarrow>({m, narrow}, filter1d_narrow(m, narrow));
  const std::vector<unsigned> ones = {1, 1}, twos = {2, 2};
  expect_same<Conv2D>({image, filter}, conv2d(image, filter, ones), ones);
  const Expression b = input(graph, {1}, {3});
  expect_same<Conv2D>({image, filter, b}, conv2d(image, filter, b, ones, false), ones, false);
  expect_same<MaxPooling2D>({image}, maxpooling2d(image, twos, ones), twos, ones);
}

TEST_F(CompatNodesTest, LstmSteps) {
  const Expression h = two, c = two;
  const Expression wx = input(graph, {8, 4}, Floats(32, 0.1f));
  const Expression wh = input(graph, {8, 2}, Floats(16, 0.2f)), b = input(graph, {8}, Floats(8, 1));
  const Expression gates = vanilla_lstm_gates(x, h, wx, wh, b);
  expect_same<VanillaLSTMGates>({x, h, wx, wh, b}, gates, false, 0.0f);
  const Expression mask_x = input(graph, {4}, {0, 2, 0, 2}), mask_h = input(graph, {2}, {2, 0});
  expect_same<VanillaLSTMGates>({x, h, wx, wh, b, mask_x, mask_h},
                                vanilla_lstm_gates_dropout(x, h, wx, wh, b, mask_x, mask_h), true,
                                0.0f);
  expect_same<VanillaLSTMC>({c, gates}, vanilla_lstm_c(c, gates));
  expect_same<VanillaLSTMH>({c, gates}, vanilla_lstm_h(c, gates));
  EXPECT_THROW(graph.add_function<VanillaLSTMGates>({x.i}, false), std::invalid_argument);
}

TEST_F(CompatNodesTest, WithoutArguments) {
  expect_same<Constant>({}, constant(graph, {3}, 2), Dim({3}), 2.0f);
  expect_same<RandomUniform>({}, constant(graph, {3}, 2), Dim({3}), 2.0f, 2.0f);
  expect_same<RandomBernoulli>({}, constant(graph, {3}, 4), Dim({3}), 1.0f, 4.0f);
  expect_same<RandomNormal>({}, constant(graph, {3}, 4), Dim({3}), 4.0f, 0.0f);
  const Expression gumbel(&graph, graph.add_function<RandomGumbel>({}, Dim({3})));
  EXPECT_EQ(gumbel.dim(), Dim({3}));
}

TEST_F(CompatNodesTest, Dropouts) {
  expect_same<Dropout>({x}, x, 0.0f);
  expect_same<DropoutDim>({m}, m, 1u, 0.0f);
  expect_same<DropoutBatch>({many}, many, 0.0f);
  expect_same<BlockDropout>({x}, x, 0.0f);
  expect_same<GaussianNoise>({x}, x, 0.0f);
  Expression dropped(&graph, graph.add_function<Dropout>({many.i}, 0.5f));
  EXPECT_NE(as_vector(dropped.value()), as_vector(many.value()));
}

TEST_F(CompatNodesTest, ArgumentsAreChecked) {
  EXPECT_THROW(graph.add_function<Tanh>({x.i, y.i}), std::invalid_argument);
  EXPECT_THROW(graph.add_function<CwiseSum>({x.i}), std::invalid_argument);
  EXPECT_THROW(graph.add_function<Tanh>({12345u}), std::invalid_argument);
  EXPECT_THROW(graph.add_function<Argmax>({m.i}, 1u), std::invalid_argument);
  EXPECT_THROW(graph.add_function<Constant>({x.i}, Dim({1}), 1.0f), std::invalid_argument);
  EXPECT_THROW(graph.add_function<Sum>(std::vector<VariableIndex>()), std::invalid_argument);
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
