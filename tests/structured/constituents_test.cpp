// Constituents: of trees, binary trees of them, and back; the loss over all their binary trees.
#include "nn/data/penn_trees.h"
#include "tests/structured/problem.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/structured.h"

namespace dynet_like::nn {
namespace {

using Spans = std::vector<LabelledSpan>;

constexpr unsigned kNone = 0;

/// A tree from brackets, with chains of phrases joined.
Tree tree_of(const std::string& text, Vocabulary& labels, bool join_unary = true) {
  return read_penn_trees(TextSource::of(text, "text"), labels, {.join_unary = join_unary}).at(0);
}

std::vector<std::uint32_t> tags_of(const Tree& tree) {
  std::vector<std::uint32_t> tags;
  for (const Tree::Node& node : tree.nodes()) {
    if (node.child_count == 0) tags.push_back(static_cast<std::uint32_t>(node.label));
  }
  return tags;
}

class PennTreeTest : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(
    All, PennTreeTest,
    ::testing::Values(
        "(S (NP (PRP It)) (VP (VBZ works)) (. .))", "(S (VP (VB Go)))", "(NN word)",
        "(S (NP (DT a) (JJ b) (NN c) (NN d)) (VP (V e) (NP (NP (NN f)) (PP (P g) (NP (N h))))))",
        "(A (B (C (D (E a) (E b)) (E c)) (E d)) (E e))",
        "(A (E a) (B (E b) (C (E c) (D (E d) (E e)))))", "(A (E a) (B (E b) (E c)) (E d) (E e))"));

// Whatever is made binary comes back as it was.
TEST_P(PennTreeTest, ComesBackFromABinaryTree) {
  Vocabulary labels;
  labels.add("none");
  const Tree tree = tree_of(GetParam(), labels);
  const Spans phrases = constituents(tree);
  const unsigned words = tree.leaf_count();
  const Spans binary = binarised(phrases, words, kNone);
  EXPECT_EQ(binary.size(), 2 * words - 1);
  EXPECT_EQ(constituents(binary, kNone), phrases);
  const Tree back = to_tree(binary, tree.words(), tags_of(tree), kNone);
  EXPECT_EQ(back, tree);
  EXPECT_EQ(to_penn(back, labels), GetParam());
  // The CRF takes it, and it is in the order of the best tree.
  ComputationGraph graph;
  std::vector<Expression> scores;
  std::vector<std::vector<float>> wanted(words);
  for (unsigned w = 1; w <= words; ++w) wanted[w - 1].resize((words - w + 1) * labels.size());
  for (const auto& [start, end, label] : binary) {
    wanted[end - start - 1][start * labels.size() + label] = 1;
  }
  for (unsigned w = 1; w <= words; ++w) {
    scores.push_back(input(graph, Dim({labels.size()}, words - w + 1), wanted[w - 1]));
  }
  EXPECT_EQ(best_spans(scores), binary);
}

TEST(ConstituentsTest, AreSplitBeforeTheirLastPart) {
  EXPECT_EQ(binarised(Spans{{0, 4, 3}}, 4, kNone),
            (Spans{{0, 4, 3}, {0, 3, 0}, {0, 2, 0}, {0, 1, 0}, {1, 2, 0}, {2, 3, 0}, {3, 4, 0}}));
  EXPECT_EQ(binarised(Spans{{1, 3, 2}}, 3, kNone),
            (Spans{{0, 3, 0}, {0, 1, 0}, {1, 3, 2}, {1, 2, 0}, {2, 3, 0}}));
  EXPECT_EQ(binarised({}, 1, 4), (Spans{{0, 1, 4}}));
}

// Without a label for the whole sentence, its parts hang on a root without one.
TEST(ConstituentsTest, OfASentenceThatIsNone) {
  const std::vector<std::string> words = {"a", "b", "c"};
  const std::vector<std::uint32_t> tags = {7, 8, 9};
  const Tree tree = to_tree(Spans{{0, 2, 3}, {0, 3, 0}}, words, tags, kNone);
  EXPECT_EQ(tree.label(tree.root()), Tree::kNoLabel);
  EXPECT_EQ(tree.children(tree.root()).size(), 2u);
  EXPECT_EQ(to_tree({}, std::vector<std::string>{"a"}, std::vector<std::uint32_t>{7}, kNone).size(),
            1u);
}

class ConstituentsLossTest : public ::testing::TestWithParam<Spans> {};
INSTANTIATE_TEST_SUITE_P(All, ConstituentsLossTest,
                         ::testing::Values(Spans{}, Spans{{0, 5, 2}}, Spans{{0, 5, 1}, {1, 4, 2}},
                                           Spans{{1, 3, 1}, {3, 4, 2}},
                                           Spans{{0, 5, kAnyLabel}, {2, 5, kAnyLabel}},
                                           Spans{{0, 2, 1}, {0, 5, 1}, {2, 5, 1}, {2, 4, 1}}));

// The sum over all binary trees that have the constituents, one by one.
TEST_P(ConstituentsLossTest, AgreesWithAllTreesOneByOne) {
  constexpr unsigned kWords = 5, kLabels = 3;
  const SpanScores scores(kWords, kLabels, kWords, DType::f64);
  const Spans& gold = GetParam();
  LogSum fitting;
  for (Spans tree : all_span_trees(0, kWords, 1)) {  // with the label kNone
    std::vector<unsigned> open;                      // places of spans that have any label
    unsigned found = 0;
    for (std::size_t i = 0; i < tree.size(); ++i) {
      for (const LabelledSpan& each : gold) {
        if (each.start != tree[i].start || each.end != tree[i].end) continue;
        ++found;
        tree[i].label = each.label;
        if (each.label == kAnyLabel) open.push_back(static_cast<unsigned>(i));
      }
    }
    if (found != gold.size()) continue;
    for (unsigned choice = 0; choice < (1u << open.size()); ++choice) {
      for (std::size_t k = 0; k < open.size(); ++k) tree[open[k]].label = 1 + (choice >> k) % 2;
      double score = 0;
      for (const auto& [start, end, label] : tree) {
        score += scores.widths[end - start - 1].values().at(label + std::size_t{kLabels} * start);
      }
      fitting.add(score);
    }
  }
  ComputationGraph graph(double_options());
  const std::vector<Expression> all = scores(graph, kWords);
  const Expression loss = constituents_loss(all, gold, kNone);
  EXPECT_EQ(loss.dim(), Dim({1}));
  EXPECT_NEAR(loss.value().at(0), span_log_partition(all).value().at(0) - fitting.value(), 1e-12);
}

// A binary tree has one way to be split.
TEST(ConstituentsTest, TheLossOfABinaryTreeIsThatOfItsSpans) {
  const SpanScores scores(4, 3, 4, DType::f64);
  const Spans binary = binarised(Spans{{0, 4, 1}, {1, 4, 2}, {2, 4, 1}}, 4, kNone);
  ComputationGraph graph(double_options());
  const std::vector<Expression> all = scores(graph, 4);
  EXPECT_NEAR(constituents_loss(all, constituents(binary, kNone), kNone).value().at(0),
              span_loss(all, binary).value().at(0), 1e-12);
}

TEST(ConstituentsTest, WhatIsRefused) {
  Vocabulary labels;
  const std::string unary = "(S (VP (VB Go) (RB on)))";
  EXPECT_EQ(message_of<UsageError>([&] { constituents(tree_of(unary, labels, false)); }),
            "[constituents] need one label for each span; got several for 0 to 2");
  Tree unlabelled;
  unlabelled.add_leaf(1, "a");
  unlabelled.add_parent(Tree::kNoLabel, 1);
  EXPECT_THROW(constituents(unlabelled), UsageError);
  const auto refused = [](const Spans& spans) {
    return message_of<UsageError>([&] { binarised(spans, 3, kNone); });
  };
  EXPECT_EQ(refused({{0, 2, 1}, {1, 3, 1}}),
            "[binarised] need constituents that do not cross; got 0 to 2 and 1 to 3");
  EXPECT_EQ(refused({{2, 4, 1}}), "[binarised] need spans of words, from 0 to 3; got 2 to 4");
  EXPECT_EQ(refused({{2, 2, 1}}), "[binarised] need spans of words, from 0 to 3; got 2 to 2");
  EXPECT_EQ(refused({{0, 2, 1}, {0, 2, 2}}),
            "[binarised] need one label for each span; got several for 0 to 2");
  EXPECT_THROW(binarised({}, 0, kNone), UsageError);
  const std::vector<std::string> words = {"a", "b"};
  EXPECT_THROW(to_tree({}, words, std::vector<std::uint32_t>{1}, kNone), UsageError);
  EXPECT_THROW(to_tree(Spans{{0, 3, 1}}, words, std::vector<std::uint32_t>{1, 1}, kNone),
               UsageError);
  ComputationGraph graph;
  const std::vector<Expression> scores = {zeros(graph, Dim({2}, 2)), zeros(graph, {2})};
  EXPECT_THROW(constituents_loss({}, {}, 0), UsageError);
  EXPECT_THROW(constituents_loss(std::span(scores).first(1), {}, 0), ShapeError);
  EXPECT_EQ(message_of<UsageError>([&] { constituents_loss(scores, {}, 2); }),
            "[constituents_loss] need labels below 2; got 2 for none");
  EXPECT_EQ(message_of<UsageError>([&] {
              constituents_loss(scores, Spans{{0, 2, 5}}, 0);
            }),
            "[constituents_loss] need labels below 2; got 5 for the span 0 to 2");
}

}  // namespace
}  // namespace dynet_like::nn
