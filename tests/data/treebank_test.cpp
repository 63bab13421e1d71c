// Sentiment trees: the flat tree, the bracket format and its errors, and the real treebank.
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

TEST(Treebank, RejectsLabelsThatAreNotThere) {
  expect_treebank_error("(5 a)", 2, "\"5\"");
  expect_treebank_error("(-1 a)", 2, "\"-1\"");
  expect_treebank_error("(3 (2 It) (99999999999 x))", 12, "\"99999999999\"");
  expect_treebank_error("(x a)", 2, "\"x\"");
  expect_treebank_error("(2.0 a)", 2, "\"2.0\"");
  expect_treebank_error("(3 (2 a) (It))", 11, "\"It\"");
  expect_treebank_error("((2 It) (3 x))", 2, "label missing");
  expect_treebank_error("()", 2, "label missing");
  expect_treebank_error("(", 2, "label missing");
  EXPECT_EQ(parse("(6 a)", {.label_count = 7, .max_depth = 9, .limits = {}}).label(0), 6);
}

TEST(Treebank, RejectsNodesThatAreNotBinary) {
  expect_treebank_error("(2 (3 b))", 1, "got 1");
  expect_treebank_error("(0 (1 x) (2 (3 a) (3 b) (3 c)))", 10, "got 3");
  expect_treebank_error("(2)", 3, "word missing");
  expect_treebank_error("(3 (2 a) (2 ))", 13, "word missing");
  expect_treebank_error("(2 a b)", 6, "\"b\"");
  expect_treebank_error("(2 a (3 b))", 6, "after a word");
  expect_treebank_error("(2 (3 b) a)", 10, "after a subtree");
}

TEST(Treebank, RejectsUnbalancedBrackets) {
  expect_treebank_error("(3 (2 It) (2 a)", 16, "1 closing bracket(s) missing");
  expect_treebank_error("(3 (2 It", 9, "2 closing bracket(s) missing");
  expect_treebank_error("(2 a))", 6, "superfluous");
  expect_treebank_error(")", 1, "superfluous");
  expect_treebank_error("(2 a) b", 7, "\"b\"");
  expect_treebank_error("(2 a) (2 b)", 7, "second one");
  expect_treebank_error("a (2 b)", 1, "\"a\"");
  expect_treebank_error("", 1, "empty line");
  expect_treebank_error("(2 a)\n(2 b)", 6, "line break");
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

TEST(Treebank, NamesTheLineOfAnError) {
  expect_file_error(
      [&] { read_treebank(TextSource::of("(2 a)\n\n(2 b)\n(2 (3 c))\n", "trees.txt")); }, 4, 1,
      "trees.txt:4:1: ");
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

/// The files of the Stanford Sentiment Treebank, where the machine has them.
struct SentimentTreebank : ::testing::Test {
  void SetUp() override {
    if (data_file("sst/train.txt").empty()) {
      GTEST_SKIP() << "needs sst/train.txt in the folder that DYNET_LIKE_DATA names";
    }
  }

  static std::vector<Tree> read(const std::string& name) {
    return read_treebank(data_file("sst/" + name));
  }

  static void expect_counts(const std::vector<Tree>& trees, std::size_t count, std::size_t nodes,
                            std::size_t leaves) {
    std::size_t node_count = 0, leaf_count = 0;
    for (const Tree& tree : trees) {
      node_count += tree.size();
      leaf_count += tree.leaf_count();
    }
    EXPECT_EQ(trees.size(), count);
    EXPECT_EQ(node_count, nodes);
    EXPECT_EQ(leaf_count, leaves);
  }
};

TEST_F(SentimentTreebank, HasThePublishedCounts) {
  const std::vector<Tree> train = read("train.txt");
  expect_counts(train, 8544, 318582, 163563);
  expect_counts(read("dev.txt"), 1101, 41447, 21274);
  expect_counts(read("test.txt"), 2210, 82600, 42405);
  std::vector<int> roots(5);
  std::uint32_t deepest = 0;
  for (const Tree& tree : train) {
    ++roots[static_cast<std::size_t>(tree.label(tree.root()))];
    deepest = std::max(deepest, tree.depth());
  }
  EXPECT_EQ(roots, (std::vector<int>{1092, 2218, 1624, 2322, 1288}));
  EXPECT_EQ(deepest, 30u);
}

TEST_F(SentimentTreebank, IsWrittenAsItWasRead) {
  for (const Tree& tree : read("train.txt")) {
    ASSERT_EQ(parse_tree(to_string(tree), "written", 1), tree);
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
