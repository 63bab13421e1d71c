// The op table itself: names, descriptions, kernels, and a public function for every op.
#include <cctype>
#include <set>

#include "dynet_like/ops/special_formulas.h"
#include "tests/ops/cases.h"
#include "tests/ops/plain_formulas.h"
#include "tests/support/precompiled.h"

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
    if (!has_cases(*op)) continue;
    const std::vector<OpCase> cases = good_cases(*op);
    EXPECT_GE(cases.size(), 2u) << op->name;
    for (const OpCase& shapes : cases) {
      EXPECT_GE(shapes.inputs.size(), op->min_inputs) << op->name;
      EXPECT_LE(shapes.inputs.size(), op->max_inputs) << op->name;
      EXPECT_EQ(shapes.reals.size(), op->numbers.reals) << op->name;
    }
  }
}

// To share an argument splits batches; that pays where its gradient is added up in one go.
TEST(OpTableTest, ArgumentsAreSharedWhereTheirGradientIsDeferred) {
  for (const OpCall& call : calls_with_inputs()) {
    const Signature type = signature_of(call, DType::f32);
    for (unsigned j = 0; j < call.inputs(); ++j) {
      const SharedGradient gradient = call.op->gradient.shared(type, j);
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
    if (good_cases(*op).empty()) continue;
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
    EXPECT_EQ(plain.contains(op->name), !good_cases(*op).empty())
        << op->name
        << " needs test cases, and a formula in tests/ops/plain_formulas.h or, if it is "
        << "elementwise, in tests/ops/plain_elementwise.h";
  }
  for (const auto& [name, formula] : plain) {
    EXPECT_EQ(std::ranges::count(all_ops(), name, &Op::name), 1) << name << " is no op";
  }
  formulas::visit_all([&]<class F>() {
    const auto found = plain_elementwise().find(F::name);
    if (found == plain_elementwise().end()) return;  // as above
    EXPECT_EQ(found->second.slope_1 != nullptr, F::inputs == 2)
        << F::name << " needs a slope for each input in tests/ops/plain_elementwise.h";
  });
}

// --------------------------------------------------------------------------- public functions

// Calls of all public functions: those of structured ops stand beside their plain formulas. An
// elementwise op has the name of its function, unless it is listed.
std::map<std::string_view, Build> public_functions() {
#define OF_ONE(name)                     \
  {                                      \
#name, [](G g) { return name(g.a); } \
  }
#define OF_TWO(name)                          \
  {                                           \
#name, [](G g) { return name(g.a, g.b); } \
  }
  std::map<std::string_view, Build> all = {
      // clang-format off
      OF_ONE(tanh), OF_ONE(sigmoid), OF_ONE(relu), OF_ONE(exp), OF_ONE(log), OF_ONE(sqrt),
      OF_ONE(square), OF_ONE(abs), OF_ONE(cube), OF_ONE(log_sigmoid), OF_ONE(selu),
      OF_ONE(softsign), OF_ONE(erf), OF_ONE(sin), OF_ONE(cos), OF_ONE(tan), OF_ONE(asin),
      OF_ONE(acos), OF_ONE(atan), OF_ONE(sinh), OF_ONE(cosh), OF_ONE(asinh), OF_ONE(acosh),
      OF_ONE(atanh), OF_ONE(lgamma), OF_ONE(elu), OF_ONE(silu), OF_ONE(gelu), OF_ONE(gelu_tanh),
      OF_ONE(softplus), OF_ONE(leaky_relu), OF_ONE(sign),
      OF_TWO(cmult), OF_TWO(cdiv), OF_TWO(tanh_of_sum), OF_TWO(min), OF_TWO(max), OF_TWO(pow),
      // clang-format on
      {"input", [](G g) { return input(g.graph, 0.5f); }},
      {"parameter", [](G g) { return parameter(g.graph, g.weights); }},
      {"lookup_parameter", [](G g) { return parameter(g.graph, g.table); }},
      {"binary_log_loss",
       [](G g) {  // summed up
         return apply_op(elementwise<formulas::BinaryLogLoss>, std::array{g.a, g.b});
       }},
      {"negate", [](G g) { return -g.a; }},
      {"add", [](G g) { return g.a + g.b; }},
      {"subtract", [](G g) { return g.a - g.b; }},
      {"scalar_add", [](G g) { return g.a + 2.0f; }},
      {"scalar_subtract", [](G g) { return 2.0f - g.a; }},
      {"scalar_multiply", [](G g) { return g.a * 2.0f; }},
      {"scalar_divide", [](G g) { return g.a / 2.0f; }},
      {"attention_dropout", [](G g) { return attention(g.a, g.a, g.b, {.dropout = 0.5f}); }},
      {"scalar_min", [](G g) { return clip(g.a, 0, 1); }},
      {"scalar_max", [](G g) { return max(g.a, 0.5f); }},
      {"less", [](G g) { return greater(g.a, 0.5f); }},
      {"less_equal", [](G g) { return greater_equal(g.a, 0.5f); }},
      {"equal", [](G g) { return equal(g.a, 0.5f); }},
      {"logit_loss",  // summed up
       [](G g) {
         return apply_op(elementwise<formulas::LogitLoss>, {g.a, g.b});
       }},
      {"divergence_term",  // summed up
       [](G g) {
         return apply_op(elementwise<formulas::DivergenceTerm>, {g.a, g.b});
       }},
      {"keep_where",  // added to the other half
       [](G g) {
         return apply_op(elementwise<formulas::KeepWhere>, std::array{g.a, g.b});
       }},
      {"drop_where",
       [](G g) {
         return apply_op(elementwise<formulas::DropWhere>, std::array{g.a, g.b});
       }},
      {"scale_gradient", [](G g) { return flip_gradient(g.a); }},
      {"round", [](G g) { return round(g.a, GradientMode::straight_through_gradient); }},
      {"ceil", [](G g) { return ceil(g.a, GradientMode::straight_through_gradient); }},
      {"floor", [](G g) { return floor(g.a, GradientMode::straight_through_gradient); }},
  };
#undef OF_ONE
#undef OF_TWO
  for (const PlainOp& op : structured_ops()) all.emplace(op.name, op.call);
  return all;
}

TEST(OpTableTest, EveryOpHasAPublicFunction) {
  const auto functions = public_functions();
  for (const Op* op : all_ops()) {
    const auto found = functions.find(op->name);
    if (found == functions.end()) {
      ADD_FAILURE() << op->name << " needs a function in dynet_like/ops/ops.h, and a call of it in "
                    << "tests/ops/plain_formulas.h or, if it is elementwise, in this file";
      continue;
    }
    GraphOptions options;
    options.seed = 1;
    ComputationGraph graph(options);
    ParameterCollection collection;
    const Givens givens{graph, collection.add_parameters({3, 3}),
                        collection.add_lookup_parameters(4, {3}),
                        input(graph, {3, 4}, std::vector<float>(12, 0.5f)),
                        input(graph, {3, 4}, std::vector<float>(12, 0.25f))};
    const Expression result = found->second(givens);
    const Tape& tape = graph.record().tape();
    EXPECT_EQ(tape.type_of(tape.value(result.i).node).op, op) << op->name;
    EXPECT_EQ(result.value().d, result.dim()) << op->name;
  }
  EXPECT_EQ(functions.size(), all_ops().size());
}

}  // namespace
}  // namespace dynet_like::op_cases
