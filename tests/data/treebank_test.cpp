// Sentiment trees: the flat tree, the bracket format and and its errors.
#include "nn/data/treebank.h"

#include "nn/data/splits.h"
#include "tests/support/file_errors.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

constexpr char kExample[] = "(3 (2 It) (4 (2 's) (3 good)))";

Tree parse(const std::string& line, const TreebankOptions& options = {}) {
  return parse_tree(line, "trees.txt", 7, options);
}

/// Checks where the error is and what it says.
void expect_treebank_error(const std::string& line, std::size_t column, const std::string& part,
                           const TreebankOptions& options = {}) {
  expect_file_error([&] { parse(line, options); }, 7, column, part);
}

/// A tree that leans to the left (or right) and is `depth` deep.
std::string leaning(std::size_t depth, bool left) {
  std::string text;
  for (std::size_t i = 1; i < depth; ++i) text += left ? "(1 " : "(1 (2 a) ";
  text += "(0 b)";
  for (std::size_t i = 1; i < depth; ++i) text += left ? " (2 a))" : ")";
  return text;
}

TEST(Tree, IsStoredInPostOrder) {
  const Tree tree = parse(kExample);
  ASSERT_EQ(tree.size(), 5u);
  EXPECT_EQ(tree.words(), (std::vector<std::string>{"It", "'s", "good"}));
  std::vector<std::int32_t> labels;
  for (const Tree::Node& node : tree.nodes()) labels.push_back(node.label);
  EXPECT_EQ(labels, (std::vector<std::int32_t>{2, 2, 3, 4, 3}));
  EXPECT_EQ(tree.root(), 4u);
  EXPECT_EQ(tree.left(4), 0u);
  EXPECT_EQ(tree.right(4), 3u);
  EXPECT_EQ(tree.left(3), 1u);
  EXPECT_EQ(tree.right(3), 2u);
  EXPECT_TRUE(tree.is_leaf(2));
  EXPECT_FALSE(tree.is_leaf(3));
  EXPECT_EQ(tree.word(2), "good");
  EXPECT_EQ(tree.nodes()[3].first_node, 1u);
  EXPECT_EQ(tree.nodes()[3].word, Tree::kNoWord);
  EXPECT_EQ(tree.heights(), (std::vector<std::uint32_t>{1, 1, 1, 2, 3}));
  EXPECT_EQ(tree.depth(), 3u);
  EXPECT_EQ(Tree().depth(), 0u);
}

TEST(Tree, HoldsAnyNumberOfChildren) {
  Tree tree;
  for (const char* word : {"a", "b", "c"}) tree.add_leaf(0, word);
  tree.add_parent(1, 3);
  tree.add_parent(2, 1);
  ASSERT_EQ(tree.children(3).size(), 3u);
  EXPECT_EQ(tree.children(3)[0], 0u);
  EXPECT_EQ(tree.children(3)[1], 1u);
  EXPECT_EQ(tree.children(3)[2], 2u);
  ASSERT_EQ(tree.children(4).size(), 1u);
  EXPECT_EQ(tree.left(4), 3u);
  EXPECT_EQ(tree.right(4), 3u);
  EXPECT_TRUE(tree.children(0).empty());
  EXPECT_THROW(to_string(tree), UsageError);
}

TEST(Tree, ParentsNeedSubtrees) {
  Tree tree;
  tree.add_leaf(0, "a");
  const Tree before = tree;
  const auto error = [](const auto& f) { return message_of<UsageError>(f); };
  EXPECT_EQ(error([&] { tree.add_parent(0, 0); }), "[Tree] need children of a parent; got 0");
  EXPECT_EQ(error([&] { tree.add_parent(0, 2); }), "[Tree] need 2 subtrees for a parent; got 1");
  EXPECT_EQ(tree, before);
  EXPECT_EQ(error([] { Tree().root(); }), "[Tree] need nodes for a root; got none");
  EXPECT_EQ(error([&] { tree.label(1); }), "[Tree] need a node below 1; got 1");
  EXPECT_EQ(error([&] { tree.left(0); }), "[Tree] need a parent for a child; got the leaf 0");
  tree.add_parent(0, 1);
  EXPECT_EQ(error([&] { tree.word(1); }), "[Tree] need a leaf for a word; got the parent 1");
}

TEST(Treebank, WritesWhatItReads) {
  EXPECT_EQ(to_string(parse(kExample)), kExample);
  EXPECT_EQ(to_string(parse("(2 word)")), "(2 word)");
  EXPECT_EQ(to_string(parse("  ( 3(2 It)( 4  (2 's )(3   good) ) ) \r")), kExample);
  EXPECT_EQ(to_string(parse("(1 (1 (1 a) (1 b)) (1 (1 c) (1 d)))")),
            "(1 (1 (1 a) (1 b)) (1 (1 c) (1 d)))");
}

TEST(Treebank, SplitsWordsAtSpacesAndBracketsOnly) {
  const Tree tree = parse(
      "(0 (1 8\xC2\xA0"
      "1\\/2) (2 a\tb))");
  EXPECT_EQ(tree.words(), (std::vector<std::string>{"8\xC2\xA0"
                                                    "1\\/2",
                                                    "a\tb"}));
}

TEST(Treebank, ParsesALine) {
  expect_treebank_error("", 1, "empty line");
  expect_treebank_error("(2 a)\n(2 b)", 6, "line break");
  EXPECT_EQ(parse("(6 a)", {.label_count = 7, .max_depth = 9, .limits = {}}).label(0), 6);
}

TEST(Treebank, ReadsDeepTreesWithoutRecursion) {
  constexpr std::size_t kDepth = 100'000;
  const TreebankOptions deep = {
      .label_count = 5, .max_depth = kDepth, .limits = {1 << 24, 1 << 24}};
  for (const bool left : {true, false}) {
    const std::string text = leaning(kDepth, left);
    const Tree tree = parse(text, deep);
    EXPECT_EQ(tree.depth(), kDepth);
    EXPECT_EQ(tree.size(), 2 * kDepth - 1);
    EXPECT_EQ(to_string(tree), text);
  }
  const std::string deeper = leaning(kDepth + 1, true);
  expect_treebank_error(deeper, 3 * kDepth + 1, "at most 100000", deep);
  expect_treebank_error(leaning(10'001, true), 30'001, "at most 10000");
}

TEST(Treebank, ReadsLinesOfAnyEnding) {
  const std::vector<Tree> trees =
      read_treebank(TextSource::of("\n(2 a)\r\n   \n(3 (2 b) (1 c))", "trees.txt"));
  ASSERT_EQ(trees.size(), 2u);
  EXPECT_EQ(trees[1].words(), (std::vector<std::string>{"b", "c"}));
  // Lines across the ends of the blocks in which a file is read.
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += "(2 w" + std::to_string(i) + ")\n";
  const std::vector<Tree> many = read_treebank(TextSource::of(text, "trees.txt"));
  ASSERT_EQ(many.size(), 30'000u);
  for (int i = 0; i < 30'000; ++i) ASSERT_EQ(many[i].word(0), "w" + std::to_string(i));
}

TEST(Treebank, WritesOnlyWhatItCanRead) {
  EXPECT_THROW(to_string(Tree()), UsageError);
  Tree unlabelled;
  unlabelled.add_leaf(Tree::kNoLabel, "a");
  EXPECT_THROW(to_string(unlabelled), UsageError);
  for (const char* word : {"", "a b", "a(", ")", "a\nb"}) {
    Tree tree;
    tree.add_leaf(0, word);
    EXPECT_THROW(to_string(tree), UsageError) << word;
  }
}

TEST(TreebankTest, LabelsOfAllNodes) {
  Tree tree;
  tree.add_leaf(3, "the");
  tree.add_leaf(1, "cat");
  tree.add_parent(4, 2);
  EXPECT_EQ(tree.labels(), (std::vector<std::uint32_t>{3, 1, 4}));
  tree.set_label(1, Tree::kNoLabel);
  EXPECT_EQ(message_of<UsageError>([&] { tree.labels(); }),
            "[Tree] need a label at every node; got none at node 1");
  EXPECT_TRUE(Tree().labels().empty());
}

TEST(SplitTest, FirstOnesAndTheRest) {
  const std::vector<int> samples = {1, 2, 3, 4, 5};
  const auto [first, rest] = split(samples, 0.6);
  EXPECT_EQ(std::vector(first.begin(), first.end()), (std::vector{1, 2, 3}));
  EXPECT_EQ(std::vector(rest.begin(), rest.end()), (std::vector{4, 5}));
  EXPECT_TRUE(split(samples, 1).second.empty());
  EXPECT_TRUE(split(std::vector<int>(), 0.5).first.empty());
  EXPECT_EQ(message_of<UsageError>([&] { split(samples, 1.5); }),
            "[split] need a share of 0 to 1; got 1.500000");
}

}  // namespace
}  // namespace dynet_like::nn
