// ListOps: values of operators, the file format and its errors.
#include "nn/data/listops.h"

#include "tests/support/file_errors.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

constexpr char kListOps[] = "9\t( ( ( [MAX 2 ) 9 ) ] )";

Tree parse_list(const std::string& line, const ListOpsFileOptions& options = {}) {
  return parse_listops(line, "listops.tsv", 7, options);
}

/// Reads an expression in the short form, such as "[MAX 2 [MIN 1 ] ]", by folding it.
Tree fold(const std::string& tokens) {
  Tree tree;
  int open = 0;
  std::istringstream stream(tokens);
  for (std::string token; stream >> token;) {
    tree.add_leaf(Tree::kNoLabel, token);
    if (token[0] == '[') {
      ++open;
      continue;
    }
    if (open > 0) tree.add_parent(Tree::kNoLabel, 2);
    if (token == "]" && --open > 0) tree.add_parent(Tree::kNoLabel, 2);
  }
  return tree;
}

void expect_listops_error(const std::string& line, std::size_t column, const std::string& part,
                          const ListOpsFileOptions& options = {}) {
  expect_file_error([&] { parse_list(line, options); }, 7, column, part);
}

TEST(ListOps, LabelsCompleteExpressionsOnly) {
  const Tree tree = parse_list(kListOps);
  EXPECT_EQ(tree.words(), (std::vector<std::string>{"[MAX", "2", "9", "]"}));
  std::vector<std::int32_t> labels;
  for (const Tree::Node& node : tree.nodes()) labels.push_back(node.label);
  EXPECT_EQ(labels, (std::vector<std::int32_t>{-1, 2, -1, 9, -1, -1, 9}));
  EXPECT_EQ(listops_values(tree), labels);
  EXPECT_EQ(listops_string(tree), kListOps + 2);
  EXPECT_EQ(count_operators(tree), 1u);
  EXPECT_EQ(listops_depth(tree), 2u);
  const Tree digit = parse_list("7\t7\r");
  EXPECT_EQ(digit.size(), 1u);
  EXPECT_EQ(digit.label(0), 7);
  EXPECT_EQ(count_operators(digit), 0u);
  EXPECT_EQ(listops_depth(digit), 1u);
}

TEST(ListOps, EvaluatesOperators) {
  EXPECT_EQ(evaluate_listops(fold("[MIN 4 2 9 ]")), 2);
  EXPECT_EQ(evaluate_listops(fold("[MAX 4 2 9 ]")), 9);
  EXPECT_EQ(evaluate_listops(fold("[SM 4 2 9 8 ]")), 3);
  EXPECT_EQ(evaluate_listops(fold("[MED 9 1 5 ]")), 5);
  EXPECT_EQ(evaluate_listops(fold("[MED 9 2 5 4 ]")), 4);
  EXPECT_EQ(evaluate_listops(fold("[MED 3 0 ]")), 1);
  EXPECT_EQ(evaluate_listops(fold("[MIN 6 ]")), 6);
  EXPECT_EQ(evaluate_listops(fold("[MAX 2 9 [MIN 4 7 ] 0 ]")), 9);
  const Tree nested = fold("[SM [MED 1 [MAX 8 3 ] 6 ] 5 [MIN 7 9 ] ]");
  EXPECT_EQ(evaluate_listops(nested), 8);
  EXPECT_EQ(count_operators(nested), 4u);
  EXPECT_EQ(listops_depth(nested), 4u);
}

TEST(ListOps, EvaluatesLongListsWithoutOverflow) {
  std::string tokens = "[SM";
  for (int i = 0; i < 100'000; ++i) tokens += " 9";
  EXPECT_EQ(evaluate_listops(fold(tokens + " ]")), 0);
  tokens.replace(0, 3, "[MED");
  EXPECT_EQ(evaluate_listops(fold(tokens + " 1 ]")), 9);
}

TEST(ListOps, RejectsTreesThatAreNoExpressions) {
  for (const char* tokens : {"", "[MAX", "]", "[MAX ]", "[MAX 2", "[FIRST 2 ]", "12"}) {
    const Tree tree = fold(tokens);
    EXPECT_THROW(evaluate_listops(tree), UsageError) << tokens;
    EXPECT_THROW(listops_string(tree), UsageError) << tokens;
  }
  Tree digits;
  digits.add_leaf(2, "2");
  digits.add_leaf(3, "3");
  digits.add_parent(Tree::kNoLabel, 2);
  EXPECT_THROW(evaluate_listops(digits), UsageError);
  Tree flat;  // All tokens under one node instead of folded.
  for (const char* word : {"[MAX", "2", "9", "]"}) flat.add_leaf(Tree::kNoLabel, word);
  flat.add_parent(9, 4);
  EXPECT_THROW(evaluate_listops(flat), UsageError);
}

TEST(ListOps, ValuesMayBeUnchecked) {
  expect_listops_error("", 0, "tab");
  const ListOpsFileOptions unchecked = {.check_values = false, .max_depth = 9, .limits = {}};
  const Tree tree = parse_list("8\t( ( ( [MAX 2 ) 9 ) ] )", unchecked);
  EXPECT_EQ(tree.label(tree.root()), 8);
  EXPECT_EQ(evaluate_listops(tree), 9);
}

TEST(ListOps, ReadsDeepExpressionsWithoutRecursion) {
  constexpr std::size_t kOperators = 50'000;
  std::string text = "3\t", end;
  for (std::size_t i = 0; i < kOperators; ++i) text += "( ( [MIN ";
  text += "3";
  for (std::size_t i = 0; i < kOperators; ++i) text += " ) ] )";
  const ListOpsFileOptions deep = {
      .check_values = true, .max_depth = 2 * kOperators, .limits = {1 << 24, 1 << 24}};
  const Tree tree = parse_list(text, deep);
  EXPECT_EQ(tree.depth(), 2 * kOperators + 1);
  EXPECT_EQ(listops_depth(tree), kOperators + 1);
  EXPECT_EQ(listops_string(tree), text.substr(2));
  expect_listops_error(text, 3 + 9 * 5'000, "at most 10000");
}

TEST(ListOps, ReadsStreams) {
  EXPECT_EQ(
      read_listops(TextSource::of(std::string(kListOps) + "\r\n\n3\t3\n", "listops.tsv")).size(),
      2u);
}

}  // namespace
}  // namespace dynet_like::nn
