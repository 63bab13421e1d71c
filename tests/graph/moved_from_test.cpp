// Objects that were moved from: they can be destroyed and assigned to, and any other use is that of
// an empty object, or of a handle on what it was, or throws.
#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

#include "dynet_like/dynet_like.h"
#include "nn/data/tree.h"
#include "nn/data/vocabulary.h"
#include "nn/data/word_vectors.h"
#include "nn/nn.h"
#include "tests/support/check_moved_from.h"

namespace dynet_like {
namespace {

// What refers to itself, or is referred to, stays where it is.
static_assert(!std::is_move_constructible_v<ComputationGraph>);
static_assert(!std::is_move_constructible_v<Minibatch>);
static_assert(!std::is_move_constructible_v<AdamTrainer>);
static_assert(!std::is_move_constructible_v<nn::WordVectorReader>);
static_assert(!std::is_move_constructible_v<nn::WordVectorWriter>);

class MovedFromTest : public ::testing::Test {
 protected:
  ParameterCollection model_;
  ComputationGraph graph_;
  const Expression x_ = zeros(graph_, Dim({3}));
  std::vector<Expression> xs_ = {x_, x_};

  // Throws, or does what it says; it never crashes.
  template <class F>
  static void try_to(const F& f) {
    try {
      f();
    } catch (const UsageError&) {
    }
  }
};

TEST_F(MovedFromTest, Collections) {
  model_.add_parameters({2, 2}, "W");
  check_moved_from(model_, [](ParameterCollection& model) {
    EXPECT_GE(model.size(), 1u);
    EXPECT_GE(model.parameter_count(), 4u);
    EXPECT_NE(model.find("/W"), nullptr);
    EXPECT_EQ(model.get_fullname(), "/");
    EXPECT_EQ(model.get_storage().dtype, model.dtype());
    model.add_subcollection("layer").add_parameters({1});
  });
}

TEST_F(MovedFromTest, Parameters) {
  check_moved_from(model_.add_parameters({3}), [&](const Parameter& parameter) {
    try_to([&] { parameter.values(); });
    try_to([&] { parameter.get_fullname(); });
    try_to([&] { parameter.set_value({1, 2, 3}); });
    try_to([&] { dynet_like::parameter(graph_, parameter); });
    try_to([&] { const_parameter(graph_, parameter); });
    try_to([&] { Gradients().values(parameter); });
  });
  check_moved_from(model_.add_lookup_parameters(2, {3}), [&](const LookupParameter& table) {
    try_to([&] { table.rows(); });
    try_to([&] { table.all_values(); });
    try_to([&] { lookup(graph_, table, 0); });
    try_to([&] { dynet_like::parameter(graph_, table); });
    try_to([&] { Gradients().values(table, 0); });
  });
}

TEST_F(MovedFromTest, GradientsAreEmpty) {
  const Parameter w = model_.add_parameters({3}, ParameterInitConst(2));
  Gradients gradients;
  graph_.backward(squared_norm(parameter(graph_, w)), gradients);
  check_moved_from(std::move(gradients), [&](Gradients& each) {
    EXPECT_EQ(each.values(w), std::vector<float>(3, each.empty() ? 0.0f : 4.0f));
    EXPECT_GE(each.norm(model_), 0);
    each.add(Gradients());
    each.clear(model_);
    EXPECT_EQ(each.values(w), std::vector<float>(3, 0.0f));
    graph_.backward(squared_norm(parameter(graph_, w)), each);
    EXPECT_EQ(each.values(w), std::vector<float>(3, 4.0f));
  });
}

TEST_F(MovedFromTest, Expressions) {
  check_moved_from(tanh(x_), [&](const Expression& y) {
    EXPECT_EQ(y.dim(), Dim({3}));
    EXPECT_EQ(as_vector(y.value()), std::vector<float>(3, 0.0f));
  });
}

TEST_F(MovedFromTest, Layers) {
  check_moved_from(nn::Linear(model_, 3, 2), [&](nn::Linear& each) { try_to([&] { each(x_); }); });
  check_moved_from(nn::Embedding(model_, 5, 3),
                   [&](nn::Embedding& each) { try_to([&] { each(graph_, 4); }); });
  check_moved_from(nn::LSTM(model_, 3, 2),
                   [&](nn::LSTM& each) { try_to([&] { each.step(each.start(graph_), x_); }); });
  check_moved_from(nn::GRU(model_, 3, 2), [&](nn::GRU& each) { try_to([&] { each(xs_); }); });
  check_moved_from(nn::StackedLSTM(model_, 3, 2, {.layers = 2}), [&](nn::StackedLSTM& each) {
    EXPECT_EQ(each.layers(), 2u);
    EXPECT_EQ(each.hidden(), 2u);
    EXPECT_EQ(each(xs_).size(), 2u);
    EXPECT_EQ(each.start(graph_).size(), 2u);
  });
  check_moved_from(nn::BidirectionalLSTM(model_, 3, 2), [&](nn::BidirectionalLSTM& each) {
    EXPECT_EQ(each.hidden(), 2u);
    EXPECT_EQ(each(xs_).size(), 2u);
    EXPECT_EQ(each.final_states(xs_).dim(), Dim({4}));
  });
  check_moved_from(nn::Highway(model_, 3),
                   [&](nn::Highway& each) { EXPECT_EQ(each(x_).dim(), Dim({3})); });
  check_moved_from(nn::MLP(model_, 3, {4, 2}),
                   [&](nn::MLP& each) { EXPECT_EQ(each(x_).dim(), Dim({2})); });
  check_moved_from(nn::TransformerEncoder(model_, {.size = 3, .hidden = 2, .heads = 1}),
                   [&](nn::TransformerEncoder& each) { EXPECT_EQ(each(x_).dim(), Dim({3})); });
  check_moved_from(nn::TransformerDecoder(model_, {.size = 3, .hidden = 2, .heads = 1}),
                   [&](nn::TransformerDecoder& each) {
                     EXPECT_EQ(each(x_, x_).dim(), Dim({3}));
                     EXPECT_EQ(each.step(each.start(x_), x_).h.dim(), Dim({3}));
                   });
  nn::EncoderConfig config;
  config.vocabulary = config.size = config.hidden = config.positions = 4;
  config.heads = config.layers = 1;
  config.embedding_dropout = config.attention_dropout = 0;
  config.attention_output_dropout = config.network_dropout = 0;
  check_moved_from(nn::Encoder(model_, config), [&](nn::Encoder& each) {
    EXPECT_EQ(each(graph_, {1, 2}).dim(), Dim({4, 2}));
    EXPECT_EQ(each.most_pieces(), 4u);
  });
  check_moved_from(nn::ScalarMix(model_, 2),
                   [&](nn::ScalarMix& each) { try_to([&] { each(xs_); }); });
  check_moved_from(nn::CharacterCNN(model_, 3, 2, {.filters = {{1, 2}}}),
                   [&](nn::CharacterCNN& each) {
                     EXPECT_EQ(each.outputs(), 2u);
                     EXPECT_EQ(each(graph_, std::vector<std::uint32_t>{1}).dim(), Dim({2}));
                   });
  check_moved_from(nn::NaryTreeLSTM(model_, 3, 2, {.children = 2}),
                   [&](nn::NaryTreeLSTM& each) { try_to([&] { each.node(x_); }); });
  check_moved_from(nn::ChildSumTreeLSTM(model_, 3, 2),
                   [&](nn::ChildSumTreeLSTM& each) { try_to([&] { each.node(x_); }); });
  check_moved_from(nn::SinusoidalPositions(4, 3),
                   [&](nn::SinusoidalPositions& each) { try_to([&] { each(x_); }); });
  const nn::LSTM lstm(model_, 3, 2);
  check_moved_from(nn::StackState(lstm, lstm.start(graph_)), [&](nn::StackState<nn::LSTM>& each) {
    each.push(x_);
    EXPECT_EQ(each.pop().i, x_.i);
  });
  check_moved_from(nn::ParserState({nn::TransitionSystem::arc_hybrid}, 2),
                   [](nn::ParserState& each) { each.apply(each.allowed().front()); });
  check_moved_from(nn::LinearChainCRF(model_, 3), [&](nn::LinearChainCRF& each) {
    try_to([&] { each.loss(concatenate_cols(xs_), std::vector<unsigned>{0, 1}); });
  });
  check_moved_from(nn::SemiMarkovCRF(model_, 3, {.max_length = 2}), [&](nn::SemiMarkovCRF& each) {
    const std::vector<nn::LabelledSpan> gold = {{0, 1, 2}};
    EXPECT_EQ(each.max_length(), 2u);
    try_to([&] { each.loss(std::span(xs_).first(1), gold); });
    try_to([&] { each.best(std::span(xs_).first(1)); });
  });
}

TEST_F(MovedFromTest, Data) {
  nn::Vocabulary words;
  words.add("a");
  words.set_unknown("?");
  words.freeze();
  check_moved_from(words, [](nn::Vocabulary& each) {
    try_to([&] { each.word(each.id("b")); });
    try_to([&] { each.add("c"); });
    try_to([&] { each.count(0); });
    EXPECT_LE(each.trimmed(1).size(), 2u);
    EXPECT_LE(each.size(), 2u);
  });
  nn::Tree tree;
  tree.add_leaf(1, "a");
  tree.add_parent(2, 1);
  check_moved_from(tree, [](nn::Tree& each) {
    EXPECT_LE(each.depth(), each.size());
    EXPECT_EQ(each.heights().size(), each.size());
    EXPECT_EQ(each.nodes().size(), each.size());
    each.add_leaf(3, "b");
    EXPECT_EQ(each.word(each.root()), "b");
  });
}

}  // namespace
}  // namespace dynet_like
