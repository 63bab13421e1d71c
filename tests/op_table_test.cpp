// The op table itself: names, descriptions, kernels, and a public function for every op.
#include <gtest/gtest.h>

#include <cctype>
#include <functional>
#include <map>
#include <set>

#include "dynet_like/ops/special_formulas.h"
#include "tests/op_cases.h"
#include "tests/plain_formulas.h"

namespace dynet_like::op_cases {
namespace {

TEST(OpTableTest, NamesAreUniqueWords) {
  std::set<std::string_view> names;
  for (const Op* op : all_ops()) {
    EXPECT_TRUE(names.insert(op->name).second) << op->name;
    EXPECT_FALSE(op->name.empty());
    for (char c : op->name) {
      EXPECT_TRUE(c == '_' || std::islower(static_cast<unsigned char>(c)) != 0) << op->name;
    }
  }
}

TEST(OpTableTest, EveryOpIsDescribed) {
  for (const Op* op : all_ops()) {
    EXPECT_GE(op->formula.size(), 2u) << op->name;
    EXPECT_NE(op->shape, nullptr) << op->name;
    EXPECT_LE(op->min_inputs, op->max_inputs) << op->name;
    if (op->max_inputs == 0) continue;
    const std::vector<OpCase> cases = op->cases();
    EXPECT_GE(cases.size(), 2u) << op->name;
    for (const OpCase& shapes : cases) {
      EXPECT_GE(shapes.inputs.size(), op->min_inputs) << op->name;
      EXPECT_LE(shapes.inputs.size(), op->max_inputs) << op->name;
      EXPECT_EQ(shapes.reals.size(), op->reals_per_item) << op->name;
    }
  }
}

// To share an argument splits batches; that pays where its gradient is added up in one go.
TEST(OpTableTest, ArgumentsAreSharedWhereTheirGradientIsDeferred) {
  for (const OpCall& call : calls_with_inputs()) {
    const Signature type = signature_of(call, DType::f32);
    for (unsigned j = 0; j < call.inputs(); ++j) {
      const SharedGradient gradient = call.op->shared_gradient(type, j);
      const Join join = call.op->joins(j, call.shapes.attributes);
      EXPECT_TRUE(join == Join::stacked || gradient != SharedGradient::dense) << call.name << j;
      if (gradient == SharedGradient::outer_product) {
        EXPECT_EQ(join, Join::broadcast) << call.name << ", input " << j;
      }
      EXPECT_EQ(gradient == SharedGradient::rows, join == Join::shared) << call.name << j;
    }
  }
}

TEST(OpTableTest, EveryElementwiseFormulaIsThere) {
  const auto table = all_ops();
  formulas::visit_all([&]<class F>() {
    EXPECT_EQ(std::count(table.begin(), table.end(), &elementwise<F>), 1) << F::name;
  });
}

TEST(OpTableTest, EveryOpHasKernels) {
  const auto device = make_cpu_queue();
  for (const Op* op : all_ops()) {
    if (op->cases == nullptr) continue;
    const Kernels& kernels = device->kernels(*op);
    for (int dtype : {0, 1}) {
      EXPECT_NE(kernels.forward[dtype], nullptr) << op->name;
      EXPECT_EQ(kernels.backward[dtype] != nullptr, op->max_inputs > 0) << op->name;
    }
  }
}

// What kernels compute is compared with formulas of the tests' own, not with the library's.
TEST(OpTableTest, EveryOpHasAPlainFormula) {
  const auto plain = plain_formulas();
  for (const Op* op : all_ops()) {
    EXPECT_EQ(plain.contains(op->name), op->cases != nullptr) << op->name;
  }
  EXPECT_EQ(plain.size(), static_cast<std::size_t>(std::ranges::count_if(
                              all_ops(), [](const Op* op) { return op->cases != nullptr; })));
  formulas::visit_all([&]<class F>() {
    const auto found = plain_elementwise().find(F::name);
    ASSERT_NE(found, plain_elementwise().end()) << F::name;
    EXPECT_EQ(found->second.slope_1 != nullptr, F::inputs == 2) << F::name;
  });
}

// --------------------------------------------------------------------------- public functions

// What public functions are given: two matrices, a positive one, a table, and where they live.
struct Givens {
  ComputationGraph& graph;
  Parameter weights;
  LookupParameter table;
  Expression a, b;  // {3,4}, all positive
};
using Build = std::function<Expression(const Givens&)>;

// Every op by the public function that makes it.
const std::map<std::string_view, Build>& public_functions() {
  static const std::map<std::string_view, Build> all = {
      {"input", [](const Givens& g) { return input(g.graph, 0.5f); }},
      {"parameter", [](const Givens& g) { return parameter(g.graph, g.weights); }},
      {"lookup_parameter", [](const Givens& g) { return parameter(g.graph, g.table); }},
      {"constant", [](const Givens& g) { return constant(g.graph, Dim({2}), 0.5f); }},
      {"lookup", [](const Givens& g) { return lookup(g.graph, g.table, 1); }},
      {"matrix_product", [](const Givens& g) { return parameter(g.graph, g.weights) * g.a; }},
      {"affine_transform",
       [](const Givens& g) {
         return affine_transform({g.b, parameter(g.graph, g.weights), g.a});
       }},
      {"inverse", [](const Givens& g) { return inverse(parameter(g.graph, g.weights)); }},
      {"logdet", [](const Givens& g) { return logdet(parameter(g.graph, g.weights)); }},
      {"lstm_cell",
       [](const Givens& g) {
         const Expression xs[] = {parameter(g.graph, g.weights), pick(g.a, 0, 1)};
         return lstm_cell(pick(g.b, 0, 1), xs, {}).h;
       }},
      {"gru_cell",
       [](const Givens& g) {
         const Expression column = reshape(g.a, Dim({12}));
         return gru_cell(pick_range(column, 0, 3), pick(parameter(g.graph, g.weights), 0, 1),
                         pick_range(column, 0, 1));
       }},
      {"dot_product", [](const Givens& g) { return dot_product(g.a, g.b); }},
      {"squared_distance", [](const Givens& g) { return squared_distance(g.a, g.b); }},
      {"sum",
       [](const Givens& g) {
         return sum({g.a, g.b});
       }},
      {"average",
       [](const Givens& g) {
         return average({g.a, g.b});
       }},
      {"sum_dim", [](const Givens& g) { return sum_dim(g.a, {1}); }},
      {"mean_dim", [](const Givens& g) { return mean_dim(g.a, {0}); }},
      {"max_dim", [](const Givens& g) { return max_dim(g.a); }},
      {"argmax",
       [](const Givens& g) { return argmax(g.a, GradientMode::straight_through_gradient); }},
      {"cumsum", [](const Givens& g) { return cumsum(g.a, 1); }},
      {"logsumexp_dim", [](const Givens& g) { return logsumexp_dim(g.a, 0); }},
      {"select",
       [](const Givens& g) {
         return select_rows(g.a, {2, 0});
       }},
      {"kmax_pooling", [](const Givens& g) { return kmax_pooling(g.a, 2); }},
      {"hinge",
       [](const Givens& g) {
         return hinge_dim(g.a, {0, 1, 2, 0});
       }},
      {"sparsemax", [](const Givens& g) { return sparsemax(reshape(g.a, Dim({12}))); }},
      {"sparsemax_loss",
       [](const Givens& g) {
         return sparsemax_loss(reshape(g.a, Dim({12})), {3, 4});
       }},
      {"constrained_softmax",
       [](const Givens& g) {
         return constrained_softmax(reshape(g.a, Dim({12})), reshape(g.b, Dim({12})));
       }},
      {"poisson_loss", [](const Givens& g) { return poisson_loss(sum_elems(g.a), 3); }},
      {"random_uniform", [](const Givens& g) { return random_uniform(g.graph, Dim({3}), -1, 1); }},
      {"random_normal", [](const Givens& g) { return random_normal(g.graph, Dim({3})); }},
      {"random_bernoulli",
       [](const Givens& g) { return random_bernoulli(g.graph, Dim({3}), 0.5f); }},
      {"random_gumbel", [](const Givens& g) { return random_gumbel(g.graph, Dim({3})); }},
      {"norm_dim", [](const Givens& g) { return l2_norm(g.a); }},
      {"rms_dim", [](const Givens& g) { return std_elems(g.a); }},
      {"layer_norm",
       [](const Givens& g) { return layer_norm(g.a, pick(g.a, 0, 1), pick(g.b, 0, 1)); }},
      {"binary_log_loss",
       [](const Givens& g) {  // summed up
         return apply_op(elementwise<formulas::BinaryLogLoss>, std::array{g.a, g.b});
       }},
      // A copy is made where a view of a view would have gaps.
      {"identity",
       [](const Givens& g) {
         const Expression columns = reshape(g.a, Dim({3}, 4));
         return reshape(pick_range(columns, 0, 2), Dim({8}));
       }},
      {"concatenate",
       [](const Givens& g) {
         return concatenate({g.a, g.b});
       }},
      {"pick_range", [](const Givens& g) { return pick_range(g.a, 1, 3); }},
      {"transpose", [](const Givens& g) { return transpose(g.a); }},
      {"softmax", [](const Givens& g) { return softmax(g.a); }},
      {"log_softmax", [](const Givens& g) { return log_softmax(g.a, 1); }},
      {"pickneglogsoftmax",
       [](const Givens& g) { return pickneglogsoftmax(reshape(g.a, Dim({12})), 3); }},
      {"dropout", [](const Givens& g) { return dropout(g.a, 0.5f); }},
      {"negate", [](const Givens& g) { return -g.a; }},
      {"add", [](const Givens& g) { return g.a + g.b; }},
      {"subtract", [](const Givens& g) { return g.a - g.b; }},
      {"cmult", [](const Givens& g) { return cmult(g.a, g.b); }},
      {"cdiv", [](const Givens& g) { return cdiv(g.a, g.b); }},
      {"scalar_add", [](const Givens& g) { return g.a + 2.0f; }},
      {"scalar_subtract", [](const Givens& g) { return 2.0f - g.a; }},
      {"scalar_multiply", [](const Givens& g) { return g.a * 2.0f; }},
      {"scalar_divide", [](const Givens& g) { return g.a / 2.0f; }},
      {"tanh", [](const Givens& g) { return tanh(g.a); }},
      {"logistic", [](const Givens& g) { return logistic(g.a); }},
      {"rectify", [](const Givens& g) { return rectify(g.a); }},
      {"exp", [](const Givens& g) { return exp(g.a); }},
      {"log", [](const Givens& g) { return log(g.a); }},
      {"sqrt", [](const Givens& g) { return sqrt(g.a); }},
      {"square", [](const Givens& g) { return square(g.a); }},
      {"abs", [](const Givens& g) { return abs(g.a); }},
      {"cube", [](const Givens& g) { return cube(g.a); }},
      {"log_sigmoid", [](const Givens& g) { return log_sigmoid(g.a); }},
      {"selu", [](const Givens& g) { return selu(g.a); }},
      {"softsign", [](const Givens& g) { return softsign(g.a); }},
      {"erf", [](const Givens& g) { return erf(g.a); }},
      {"sin", [](const Givens& g) { return sin(g.a); }},
      {"cos", [](const Givens& g) { return cos(g.a); }},
      {"tan", [](const Givens& g) { return tan(g.a); }},
      {"asin", [](const Givens& g) { return asin(g.a); }},
      {"acos", [](const Givens& g) { return acos(g.a); }},
      {"atan", [](const Givens& g) { return atan(g.a); }},
      {"sinh", [](const Givens& g) { return sinh(g.a); }},
      {"cosh", [](const Givens& g) { return cosh(g.a); }},
      {"asinh", [](const Givens& g) { return asinh(g.a); }},
      {"acosh", [](const Givens& g) { return acosh(g.a); }},
      {"atanh", [](const Givens& g) { return atanh(g.a); }},
      {"lgamma", [](const Givens& g) { return lgamma(g.a); }},
      {"elu", [](const Givens& g) { return elu(g.a); }},
      {"silu", [](const Givens& g) { return silu(g.a); }},
      {"gelu", [](const Givens& g) { return gelu(g.a); }},
      {"gelu_tanh", [](const Givens& g) { return gelu_tanh(g.a); }},
      {"softplus", [](const Givens& g) { return softplus(g.a); }},
      {"leaky_relu", [](const Givens& g) { return leaky_relu(g.a); }},
      {"scalar_min", [](const Givens& g) { return clip(g.a, 0, 1); }},
      {"scalar_max", [](const Givens& g) { return max(g.a, 0.5f); }},
      {"sign", [](const Givens& g) { return sign(g.a); }},
      {"less", [](const Givens& g) { return greater(g.a, 0.5f); }},
      {"less_equal", [](const Givens& g) { return greater_equal(g.a, 0.5f); }},
      {"equal", [](const Givens& g) { return equal(g.a, 0.5f); }},
      {"logit_loss",  // summed up
       [](const Givens& g) { return apply_op(elementwise<formulas::LogitLoss>, {g.a, g.b}); }},
      {"divergence_term",  // summed up
       [](const Givens& g) { return apply_op(elementwise<formulas::DivergenceTerm>, {g.a, g.b}); }},
      {"keep_where",  // added to the other half
       [](const Givens& g) {
         return apply_op(elementwise<formulas::KeepWhere>, std::array{g.a, g.b});
       }},
      {"drop_where",
       [](const Givens& g) {
         return apply_op(elementwise<formulas::DropWhere>, std::array{g.a, g.b});
       }},
      {"min", [](const Givens& g) { return min(g.a, g.b); }},
      {"max", [](const Givens& g) { return max(g.a, g.b); }},
      {"pow", [](const Givens& g) { return pow(g.a, g.b); }},
      {"scale_gradient", [](const Givens& g) { return flip_gradient(g.a); }},
      {"round",
       [](const Givens& g) { return round(g.a, GradientMode::straight_through_gradient); }},
      {"ceil", [](const Givens& g) { return ceil(g.a, GradientMode::straight_through_gradient); }},
      {"floor",
       [](const Givens& g) { return floor(g.a, GradientMode::straight_through_gradient); }},
  };
  return all;
}

TEST(OpTableTest, EveryOpHasAPublicFunction) {
  for (const Op* op : all_ops()) {
    const auto found = public_functions().find(op->name);
    ASSERT_NE(found, public_functions().end())
        << op->name << " needs a function in dynet_like/ops/ops.h and an entry here";
    Random random(1);
    GraphOptions options;
    options.random = &random;
    ComputationGraph graph(options);
    ParameterCollection collection;
    const Givens givens{graph, collection.add_parameters({3, 3}),
                        collection.add_lookup_parameters(4, {3}),
                        input(graph, {3, 4}, std::vector<float>(12, 0.5f)),
                        input(graph, {3, 4}, std::vector<float>(12, 0.25f))};
    const Expression result = found->second(givens);
    const Tape& tape = graph.tape();
    EXPECT_EQ(tape.type_of(tape.value(result.i).node).op, op) << op->name;
    EXPECT_EQ(result.value().d, result.dim()) << op->name;
  }
  EXPECT_EQ(public_functions().size(), all_ops().size());
}

}  // namespace
}  // namespace dynet_like::op_cases
