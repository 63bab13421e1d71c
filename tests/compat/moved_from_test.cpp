// DyNet's objects after they were moved from, and builders that have no layers: they can be
// destroyed and assigned to, and any other use gives an answer or says what it needs.
#include <dynet/cfsm-builder.h>
#include <dynet/deep-lstm.h>
#include <dynet/dict.h>
#include <dynet/fast-lstm.h>
#include <dynet/gru.h>
#include <dynet/hsm-builder.h>
#include <dynet/lstm.h>
#include <dynet/rnn.h>
#include <dynet/training.h>
#include <dynet/treelstm.h>

#include "tests/empty_objects/types.h"
#include "tests/support/precompiled.h"

namespace dynet {
namespace {

using dynet_like::attempt;

static_assert(!std::is_move_constructible_v<ComputationGraph>);
static_assert(!std::is_move_constructible_v<SimpleSGDTrainer>);

TEST(CompatMovedFromTest, ModelsAndDictionaries) {
  dynet_like::Types types;
  ParameterCollection model;
  model.add_parameters({2, 2}, "W");
  const ParameterCollection taken = std::move(model);
  EXPECT_EQ(taken.parameters_list().size(), 1u);
  EXPECT_EQ(model.parameters_list().size(), 1u);
  types.use(model, [](ParameterCollection& each) {
    EXPECT_EQ(each.parameters_list().size(), each.parameter_count() / 4);
    ATTEMPT(each.gradient_l2_norm(), each.reset_gradient(), each.project_weights(),
            each.get_weight_decay_lambda(), each.add_subcollection("layer").add_parameters({4}));
  });
  types.use(model.add_parameters({3}), [](Parameter& each) {
    ATTEMPT(each.values(), each.gradients(), each.dim(), each.zero());
  });
  types.use(model.add_lookup_parameters(2, {3}), [](LookupParameter& each) {
    ATTEMPT(each.initialize(0, {1, 2, 3}), each.dim());
  });
  Dict dict;
  dict.convert("a");
  dict.freeze();
  dict.set_unk("?");
  types.use(dict, [](Dict& each) {
    ATTEMPT(each.convert("b"), each.convert(int(each.size()) - 1));
    EXPECT_LE(each.size(), 2u);
  });
  ComputationGraph graph;
  const Expression x = zeros(graph, {3});
  types.use(StandardSoftmaxBuilder(3, 5, model), [&](SoftmaxBuilder& each) {
    ATTEMPT(each.new_graph(graph), each.neg_log_softmax(x, 1), each.sample(x),
            each.full_log_distribution(x), each.get_parameter_collection().size());
  });
}

/// The next input, or the next leaf.
template <class Builder>
Expression add(Builder& builder, const Expression& x, int node) {
  if constexpr (std::is_base_of_v<TreeLSTMBuilder, Builder>) {
    return builder.add_input(node, {}, x);
  } else {
    return builder.add_input(x);
  }
}

/// Everything that a program does with a builder.
template <class Builder>
void use(Builder& builder, ComputationGraph& graph) {
  const Expression x = zeros(graph, {4});
  const auto ask = [&] {
    ATTEMPT(add(builder, x, 0), builder.back(), builder.final_h(), builder.final_s(),
            builder.get_h(builder.state()), builder.get_s(RNNPointer(0)),
            builder.num_h0_components(), builder.set_h(builder.state(), {x}),
            builder.set_s(builder.state(), {x}), builder.rewind_one_step(),
            builder.set_dropout(0.5f), builder.disable_dropout(),
            builder.get_parameter_collection().size());
    if constexpr (std::is_base_of_v<TreeLSTMBuilder, Builder>) {
      ATTEMPT(builder.set_num_elements(2), builder.add_input(0, {}, x),
              builder.add_input(1, {0}, x));
    }
  };
  ask();
  ATTEMPT(builder.new_graph(graph), builder.start_new_sequence());
  ask();
}

struct NaryBuilder : NaryTreeLSTMBuilder {
  NaryBuilder() = default;
  NaryBuilder(unsigned layers, unsigned inputs, unsigned hidden, ParameterCollection& model)
      : NaryTreeLSTMBuilder(2, layers, inputs, hidden, model) {}
};

template <class Builder>
class CompatMovedBuilderTest : public testing::Test {};

using Builders =
    testing::Types<SimpleRNNBuilder, VanillaLSTMBuilder, CoupledLSTMBuilder,
                   CompactVanillaLSTMBuilder, GRUBuilder, FastLSTMBuilder, DeepLSTMBuilder,
                   NaryBuilder, UnidirectionalTreeLSTMBuilder, BidirectionalTreeLSTMBuilder>;
TYPED_TEST_SUITE(CompatMovedBuilderTest, Builders);

TYPED_TEST(CompatMovedBuilderTest, IsUsableInEveryState) {
  dynet_like::Types types;
  ParameterCollection model;
  ComputationGraph graph;
  TypeParam builder(2, 4, 4, model);
  const auto use_it = [&](TypeParam& each) { use(each, graph); };
  types.use(builder, use_it);
  builder.new_graph(graph);
  builder.start_new_sequence();
  use(builder, graph);
  types.use(builder, use_it);
}

TYPED_TEST(CompatMovedBuilderTest, ReadsOnWhereItWasMovedTo) {
  ParameterCollection model;
  ComputationGraph graph;
  const Expression x = zeros(graph, {4});
  TypeParam first(2, 4, 4, model);
  first.new_graph(graph);
  first.start_new_sequence();
  add(first, x, 0);
  TypeParam builder = std::move(first);
  EXPECT_EQ(add(builder, x, 1).dim().rows() % 4, 0u);
  EXPECT_EQ(first.state(), -1);
  EXPECT_THROW(first.new_graph(graph), std::invalid_argument);
  first = std::move(builder);
  add(first, x, 2);
  EXPECT_NO_THROW(first.new_graph(graph));
  EXPECT_THROW(builder.new_graph(graph), std::invalid_argument);
}

}  // namespace
}  // namespace dynet
