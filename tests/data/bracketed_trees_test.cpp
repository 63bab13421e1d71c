// Trees of the Penn Treebank, and sentences in brackets without labels: what is read and refused,
// and the real trees.
#include "nn/data/bracketed_text.h"
#include "nn/data/penn_trees.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

// From the guidelines' style: functions, an index, a trace, a unary chain, several lines.
constexpr char kText[] =
    "( (S (NP-SBJ-1 (PRP It))\n"
    "     (VP (VBZ seems)\n"
    "         (S (NP-SBJ (-NONE- *-1))\n"
    "            (VP (TO to) (VP (VB work)))))\n"
    "     (. .)) )\n"
    "\n"
    "(FRAG (INTJ (UH No)) (-LRB- -LRB-))(X (SYM *))\n";

std::vector<Tree> read(const std::string& text, Vocabulary& labels,
                       const PennOptions& options = {}) {
  return read_penn_trees(TextSource::of(text, "t.mrg"), labels, options);
}

std::string written(const std::string& text, const PennOptions& options = {}) {
  Vocabulary labels;
  std::string all;
  for (const Tree& tree : read(text, labels, options)) all += to_penn(tree, labels) + '\n';
  return all;
}

TEST(PennTreesTest, KeepsWhatParsersLearn) {
  EXPECT_EQ(written(kText),
            "(S (NP (PRP It)) (VP (VBZ seems) (S (VP (TO to) (VP (VB work))))) (. .))\n"
            "(FRAG (INTJ (UH No)) (-LRB- -LRB-))\n"
            "(X (SYM *))\n");
  EXPECT_EQ(written("(S (NP=2 (PRP It)) (ADVP-LOC=1 (RB here)))"),
            "(S (NP (PRP It)) (ADVP (RB here)))\n");
}

TEST(PennTreesTest, MayKeepAll) {
  const std::string text = written(kText, {.functions = true, .traces = true});
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "(S (NP-SBJ-1 (PRP It)) (VP (VBZ seems) (S (NP-SBJ (-NONE- *-1)) "
            "(VP (TO to) (VP (VB work))))) (. .))");
}

TEST(PennTreesTest, JoinsUnaryPhrasesAndSplitsThemAgain) {
  Vocabulary labels;
  const PennOptions options = {.join_unary = true};
  const Tree tree = read("(TOP (S (VP (VB Go) (NP (NN on)))))", labels, options)[0];
  ASSERT_EQ(tree.size(), 4u);  // Go, on, NP, TOP+S+VP
  EXPECT_EQ(labels.word(static_cast<std::uint32_t>(tree.label(3))), "TOP+S+VP");
  EXPECT_EQ(tree.words(), (std::vector<std::string>{"Go", "on"}));
  EXPECT_EQ(to_penn(tree, labels), "(TOP (S (VP (VB Go) (NP (NN on)))))");
  EXPECT_EQ(written(kText, options), written(kText));
}

TEST(PennTreesTest, LeavesOutTreesOfTracesAlone) {
  EXPECT_EQ(written("(S (NP (-NONE- *)))(X (A b))"), "(X (A b))\n");
}

TEST(PennTreesTest, RefusesDepthsAndLabelsThatAreNotWanted) {
  Vocabulary labels;
  const auto message = [&](const std::string& text) {
    return message_of<FileError>([&] { read(text, labels, {.max_depth = 5}); });
  };
  EXPECT_EQ(message("((((((A b))))))"), "t.mrg:1:6: need a depth of at most 5");
  labels.add("A");
  labels.freeze();
  EXPECT_EQ(message("(Q c)"), "t.mrg:1:5: need a label of the vocabulary; got \"Q\"");
}

TEST(PennTreesTest, RefusesToWriteWhatCannotBeRead) {
  Vocabulary labels;
  labels.add("A");
  Tree tree;
  EXPECT_THROW(to_penn(tree, labels), UsageError);
  tree.add_leaf(0, "a b");
  EXPECT_EQ(message_of<UsageError>([&] { to_penn(tree, labels); }),
            "[to_penn] need a word without spaces and brackets; got \"a b\"");
  Tree other;
  other.add_leaf(1, "a");
  EXPECT_THROW(to_penn(other, labels), UsageError);
}

/// With all brackets that the tree has.
std::string written(const Tree& tree, std::uint32_t node) {
  if (tree.is_leaf(node)) return tree.word(node);
  EXPECT_EQ(tree.children(node).size(), 2u);
  return '(' + written(tree, tree.left(node)) + ' ' + written(tree, tree.right(node)) + ')';
}

std::string parsed(const std::string& text) {
  const Tree tree = parse_bracketed_text(text, "file");
  for (const Tree::Node& node : tree.nodes()) EXPECT_EQ(node.label, Tree::kNoLabel);
  return written(tree, tree.root());
}

TEST(BracketedTextTest, IsABinaryTree) {
  EXPECT_EQ(parsed("( ( all dogs ) ( ( not big ) sleep ) )"), "((all dogs) ((not big) sleep))");
  EXPECT_EQ(parsed("a"), "a");
  EXPECT_EQ(parsed("a b c d"), "(((a b) c) d)");
  EXPECT_EQ(parsed("a ( b c d ) e"), "((a ((b c) d)) e)");
  EXPECT_EQ(parsed("( ( a ) )\t( b )"), "(a b)");
  EXPECT_EQ(parsed(":( (a"), "(:( (a)");  // only what stands alone is a bracket
}

TEST(BracketedTextTest, NeedsWordsAndBothBrackets) {
  for (const char* text : {"", "( a", "a )", "( )", "( a ( ) )", ") a (", "( a ) )"}) {
    EXPECT_EQ(message_of<FileError>([&] { parse_bracketed_text(text, "pairs.tsv", 3); }),
              std::string("pairs.tsv:3: need words, in brackets that match; got \"") + text + '"');
  }
}

TEST(BracketedTextTest, MayBeDeep) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "( a ";
  text += 'b';
  for (int i = 0; i < 100'000; ++i) text += " )";
  EXPECT_EQ(parse_bracketed_text(text, "file").depth(), 100'001u);
}

}  // namespace
}  // namespace dynet_like::nn
