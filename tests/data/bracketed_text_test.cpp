// Sentences in brackets without labels: the tree that they mean, and what is refused.
#include "nn/data/bracketed_text.h"

#include <gtest/gtest.h>

#include "dynet_like/core/errors.h"
#include "tests/support/message_of.h"

namespace dynet_like::nn {
namespace {

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
