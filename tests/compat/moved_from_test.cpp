// DyNet's objects after they were moved from, and builders that have no layers: they can be
// destroyed and assigned to, and any other use throws or does nothing.
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
#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

#include "tests/support/check_moved_from.h"

namespace dynet {
namespace {

using dynet_like::check_moved_from;

static_assert(!std::is_move_constructible_v<ComputationGraph>);
static_assert(!std::is_move_constructible_v<SimpleSGDTrainer>);

// Throws, or does what it says; it never crashes.
template <class F>
void try_to(const F& f) {
  try {
    f();
  } catch (const std::invalid_argument&) {
  }
}

TEST(CompatMovedFromTest, Collections) {
  ParameterCollection model;
  model.add_parameters({2, 2}, "W");
  check_moved_from(model, [](ParameterCollection& each) {
    EXPECT_GE(each.parameters_list().size(), 1u);
    EXPECT_GE(each.parameter_count(), 4u);
    EXPECT_GE(each.gradient_l2_norm(), 0);
    each.reset_gradient();
    each.project_weights();
    EXPECT_GE(each.get_weight_decay_lambda(), 0);
    each.add_subcollection("layer").add_lookup_parameters(2, {3});
  });
}

TEST(CompatMovedFromTest, Parameters) {
  ParameterCollection model;
  check_moved_from(model.add_parameters({3}), [](Parameter& each) {
    try_to([&] { each.values(); });
    try_to([&] { each.gradients(); });
    try_to([&] { each.dim(); });
    try_to([&] { each.zero(); });
  });
  check_moved_from(model.add_lookup_parameters(2, {3}), [](LookupParameter& each) {
    try_to([&] { each.initialize(0, {1, 2, 3}); });
    try_to([&] { each.dim(); });
  });
}

// Everything that a program does with a builder.
void use(RNNBuilder& builder, ComputationGraph& graph) {
  const Expression x = zeros(graph, {3});
  auto* const tree = dynamic_cast<TreeLSTMBuilder*>(&builder);
  const auto ask = [&] {
    try_to([&] { builder.add_input(x); });
    if (tree != nullptr) {
      try_to([&] { tree->add_input(0, {}, x); });
      try_to([&] { tree->set_num_elements(2); });
      try_to([&] { tree->add_input(0, {}, x); });
      try_to([&] { tree->add_input(1, {0}, x); });
    }
    try_to([&] { builder.back(); });
    try_to([&] { builder.final_h(); });
    try_to([&] { builder.final_s(); });
    try_to([&] { builder.get_h(builder.state()); });
    try_to([&] { builder.get_s(RNNPointer(0)); });
    try_to([&] { builder.num_h0_components(); });
    try_to([&] { builder.set_h(builder.state(), {x}); });
    try_to([&] { builder.set_s(builder.state(), {x}); });
    try_to([&] { builder.rewind_one_step(); });
    try_to([&] { builder.set_dropout(0.5f); });
    try_to([&] { builder.disable_dropout(); });
    try_to([&] { builder.get_parameter_collection().size(); });
  };
  ask();
  try_to([&] { builder.new_graph(graph); });
  try_to([&] { builder.start_new_sequence(); });
  ask();
}

template <class Builder>
class CompatMovedBuilderTest : public testing::Test {};

using Builders =
    testing::Types<SimpleRNNBuilder, VanillaLSTMBuilder, CoupledLSTMBuilder,
                   CompactVanillaLSTMBuilder, GRUBuilder, FastLSTMBuilder, DeepLSTMBuilder,
                   UnidirectionalTreeLSTMBuilder, BidirectionalTreeLSTMBuilder>;
TYPED_TEST_SUITE(CompatMovedBuilderTest, Builders);

TYPED_TEST(CompatMovedBuilderTest, IsUsable) {
  ParameterCollection model;
  ComputationGraph graph;
  TypeParam builder(2, 3, 4, model);
  check_moved_from(builder, [&](TypeParam& each) { use(each, graph); });
  builder.new_graph(graph);
  builder.start_new_sequence();
  use(builder, graph);
  check_moved_from(builder, [&](TypeParam& each) { use(each, graph); });
  check_moved_from(builder, [](TypeParam& each) {
    TypeParam copy = each;
    copy = std::move(each);
  });
}

TYPED_TEST(CompatMovedBuilderTest, ReadsOnWhereItWasMovedTo) {
  ParameterCollection model;
  ComputationGraph graph;
  TypeParam first(2, 3, 4, model);
  first.new_graph(graph);
  first.start_new_sequence();
  use(first, graph);
  TypeParam builder = std::move(first);
  EXPECT_EQ(first.state(), -1);
  EXPECT_THROW(first.new_graph(graph), std::invalid_argument);
  first = std::move(builder);
  first.new_graph(graph);
  EXPECT_THROW(builder.new_graph(graph), std::invalid_argument);
}

TEST(CompatMovedFromTest, NaryTrees) {
  ParameterCollection model;
  ComputationGraph graph;
  NaryTreeLSTMBuilder builder(2, 1, 3, 3, model), empty;
  use(empty, graph);
  use(builder, graph);
  check_moved_from(builder, [&](NaryTreeLSTMBuilder& each) { use(each, graph); });
}

TYPED_TEST(CompatMovedBuilderTest, WithoutLayers) {
  ComputationGraph graph;
  TypeParam builder;
  use(builder, graph);
}

TEST(CompatMovedFromTest, SequencesGoOn) {
  ParameterCollection model;
  ComputationGraph graph;
  VanillaLSTMBuilder first(2, 3, 4, model);
  first.new_graph(graph);
  first.start_new_sequence();
  first.add_input(zeros(graph, {3}));
  VanillaLSTMBuilder builder = std::move(first);
  EXPECT_EQ(builder.add_input(zeros(graph, {3})).dim(), Dim({4}));
  EXPECT_EQ(builder.state(), 1);
  EXPECT_EQ(first.state(), -1);
}

TEST(CompatMovedFromTest, SoftmaxBuilders) {
  ParameterCollection model;
  ComputationGraph graph;
  const Expression rep = zeros(graph, {3});
  const auto use = [&](SoftmaxBuilder& each) {
    try_to([&] { each.new_graph(graph); });
    try_to([&] { each.neg_log_softmax(rep, 1); });
    try_to([&] { each.sample(rep); });
    try_to([&] { each.full_log_distribution(rep); });
    try_to([&] { each.get_parameter_collection().size(); });
  };
  check_moved_from(StandardSoftmaxBuilder(3, 5, model), use);
}

TEST(CompatMovedFromTest, Dictionaries) {
  Dict dict;
  dict.convert("a");
  dict.freeze();
  dict.set_unk("?");
  check_moved_from(dict, [](Dict& each) {
    try_to([&] { each.convert("b"); });
    try_to([&] { each.convert(int(each.size()) - 1); });
    EXPECT_LE(each.size(), 2u);
  });
}

}  // namespace
}  // namespace dynet
