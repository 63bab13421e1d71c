// The format of ListOps, and its values. Both follow from the kind of part that a node is.
#include "nn/data/listops.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace dynet_like::nn {

namespace {

/// The operators, in the order of kListOpsOperators.
enum class Operator { kMin, kMax, kMedian, kSumModulo };

/// The kind of a node: an expression, an operator token, an operator with arguments but without its
/// end, or the token that ends an operator.
enum class Part { kExpression, kOperator, kOpen, kEnd };

bool is_operator(std::string_view word) {
  return std::find(kListOpsOperators.begin(), kListOpsOperators.end(), word) !=
         kListOpsOperators.end();
}

std::optional<Part> part_of(std::string_view word) {
  if (word.size() == 1 && word[0] >= '0' && word[0] <= '9') return Part::kExpression;
  if (word == "]") return Part::kEnd;
  if (is_operator(word)) return Part::kOperator;
  return std::nullopt;
}

/// The kind of a node with these two children; nothing if they do not fit together.
std::optional<Part> join(Part left, Part right) {
  if (right == Part::kExpression && (left == Part::kOperator || left == Part::kOpen)) {
    return Part::kOpen;
  }
  if (left == Part::kOpen && right == Part::kEnd) return Part::kExpression;
  return std::nullopt;
}

std::int32_t apply(Operator operation, std::span<std::int32_t> arguments) {
  switch (operation) {
    case Operator::kMin:
      return *std::min_element(arguments.begin(), arguments.end());
    case Operator::kMax:
      return *std::max_element(arguments.begin(), arguments.end());
    case Operator::kSumModulo:
      // Takes each step modulo 10, since a sum over a long list could overflow.
      return std::accumulate(arguments.begin(), arguments.end(), std::int32_t{0},
                             [](std::int32_t a, std::int32_t b) { return (a + b) % 10; });
    case Operator::kMedian:
      break;
  }
  std::sort(arguments.begin(), arguments.end());
  const std::size_t half = arguments.size() / 2;
  if (arguments.size() % 2 == 1) return arguments[half];
  return (arguments[half - 1] + arguments[half]) / 2;
}

/// Evaluates a tree from its first node to its last. The stack has the rest of the open expression:
/// operators as negative numbers, and values.
class Evaluator {
 public:
  explicit Evaluator(const Tree& tree) : tree_(tree) {}

  std::vector<std::int32_t> values() {
    std::vector<std::int32_t> values(tree_.size(), Tree::kNoLabel);
    parts_.reserve(tree_.size());
    for (std::uint32_t node = 0; node < tree_.size(); ++node) {
      parts_.push_back(tree_.is_leaf(node) ? leaf(tree_.word(node)) : parent(node));
      if (parts_.back() == Part::kExpression) values[node] = stack_.back();
    }
    if (parts_.empty() || parts_.back() != Part::kExpression) fail("a complete expression");
    return values;
  }

 private:
  [[noreturn]] static void fail(const std::string& need) {
    throw UsageError("[listops] need " + need + "; got another tree");
  }

  Part leaf(const std::string& word) {
    const std::optional<Part> part = part_of(word);
    if (!part) fail("digits, operators and \"]\" as words");
    if (*part == Part::kExpression) stack_.push_back(word[0] - '0');
    if (*part == Part::kOperator) {
      const auto found = std::find(kListOpsOperators.begin(), kListOpsOperators.end(), word);
      stack_.push_back(-1 - static_cast<std::int32_t>(found - kListOpsOperators.begin()));
    }
    return *part;
  }

  Part parent(std::uint32_t node) {
    if (tree_.children(node).size() != 2) fail("2 children");
    const std::optional<Part> part = join(parts_[tree_.left(node)], parts_[tree_.right(node)]);
    if (!part) fail("operators followed by arguments and \"]\"");
    if (*part == Part::kExpression) close();
    return *part;
  }

  void close() {
    std::size_t start = stack_.size();
    while (stack_[start - 1] >= 0) --start;
    const auto operation = static_cast<Operator>(-1 - stack_[start - 1]);
    stack_[start - 1] = apply(operation, std::span(stack_).subspan(start));
    stack_.resize(start);
  }

  const Tree& tree_;
  std::vector<Part> parts_;
  std::vector<std::int32_t> stack_;
};

class ExpressionParser {
 public:
  ExpressionParser(std::string_view line, std::size_t position, const std::string& file,
                   std::size_t line_number, const ListOpsFileOptions& options)
      : tokens_(line, position), file_(file), line_number_(line_number), options_(options) {}

  Tree parse() {
    std::string_view token;
    while (!(token = tokens_.next()).empty()) {
      if (tree_.size() != 0 && open_.empty()) fail("text after an expression: ", token);
      if (token == "(") {
        open();
      } else if (token == ")") {
        close();
      } else {
        add_word(token);
      }
    }
    if (!open_.empty()) {
      fail(std::to_string(open_.size()) + " closing bracket(s) missing; the last open one is at " +
           "column " + std::to_string(open_.back().column));
    }
    if (tree_.size() == 0) fail("need an expression; got none");
    if (root_ != Part::kExpression) fail("need a digit or an operator that is closed by \"]\"");
    return std::move(tree_);
  }

 private:
  /// An open bracket, with its parts so far.
  struct OpenBracket {
    std::size_t column;
    std::size_t part_count = 0;
    std::array<Part, 2> parts{};
  };

  [[noreturn]] void fail(const std::string& what) const { fail_at(what, tokens_.column()); }
  [[noreturn]] void fail(const std::string& what, std::string_view token) const {
    fail(what + detail::quoted_text(token));
  }
  [[noreturn]] void fail_at(const std::string& what, std::size_t column) const {
    throw FileError(file_, what, line_number_, column);
  }

  void open() {
    if (open_.size() >= options_.max_depth) {
      fail("need a depth of at most " + std::to_string(options_.max_depth));
    }
    open_.push_back({.column = tokens_.column(), .part_count = 0, .parts = {}});
  }

  void add_word(std::string_view word) {
    const std::optional<Part> part = part_of(word);
    if (!part) {
      fail(word[0] == '[' ? "unknown operator " : "need a digit, an operator or \"]\"; got ", word);
    }
    tree_.add_leaf(Tree::kNoLabel, word);
    finish(*part);
  }

  void close() {
    if (open_.empty()) fail("superfluous closing bracket");
    const OpenBracket bracket = open_.back();
    open_.pop_back();
    if (bracket.part_count != 2) {
      fail_at("need exactly 2 parts in a bracket; got " + std::to_string(bracket.part_count),
              bracket.column);
    }
    const std::optional<Part> part = join(bracket.parts[0], bracket.parts[1]);
    if (!part) {
      fail_at("need an operator, its arguments and \"]\", joined from the left", bracket.column);
    }
    tree_.add_parent(Tree::kNoLabel, 2);
    finish(*part);
  }

  void finish(Part part) {
    if (open_.empty()) {
      root_ = part;
      return;
    }
    OpenBracket& bracket = open_.back();
    if (bracket.part_count < 2) bracket.parts[bracket.part_count] = part;
    ++bracket.part_count;
  }

  BracketTokens tokens_;
  const std::string& file_;
  std::size_t line_number_;
  const ListOpsFileOptions& options_;
  std::vector<OpenBracket> open_;
  Part root_ = Part::kEnd;
  Tree tree_;
};

}  // namespace

Tree parse_listops(std::string_view line, const std::string& file, std::size_t line_number,
                   const ListOpsFileOptions& options) {
  TextLine{line, file, line_number}.check_bytes(options.limits);
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t tab = line.find('\t');
  if (tab == line.npos) throw FileError(file, "need a tab after the label; got none", line_number);
  if (tab != 1 || line[0] < '0' || line[0] > '9') {
    throw FileError(file,
                    "need a label from 0 to 9; got " + detail::quoted_text(line.substr(0, tab)),
                    line_number, 1);
  }
  Tree tree = ExpressionParser(line, tab + 1, file, line_number, options).parse();
  const std::vector<std::int32_t> values = listops_values(tree);
  for (std::uint32_t node = 0; node < tree.size(); ++node) tree.set_label(node, values[node]);
  const std::int32_t label = line[0] - '0';
  if (options.check_values && label != values.back()) {
    throw FileError(file,
                    "need the value of the expression, " + std::to_string(values.back()) +
                        ", as its label; got " + std::to_string(label),
                    line_number, 1);
  }
  tree.set_label(tree.root(), label);
  return tree;
}

std::vector<Tree> read_listops(TextSource source, const ListOpsFileOptions& options) {
  return parse_lines(std::move(source), options.limits, "expression", [&](const TextLine& line) {
    return parse_listops(line.text, line.file, line.number, options);
  });
}

std::vector<std::int32_t> listops_values(const Tree& tree) { return Evaluator(tree).values(); }

std::int32_t evaluate_listops(const Tree& tree) { return listops_values(tree).back(); }

std::uint32_t count_operators(const Tree& tree) {
  return static_cast<std::uint32_t>(
      std::count_if(tree.words().begin(), tree.words().end(), is_operator));
}

std::uint32_t listops_depth(const Tree& tree) {
  std::uint32_t depth = 1, deepest = 1;
  for (const std::string& word : tree.words()) {
    if (is_operator(word)) deepest = std::max(deepest, ++depth);
    if (word == "]") --depth;
  }
  return deepest;
}

std::string listops_string(const Tree& tree) {
  listops_values(tree);  // checks that the text can be read again
  std::string text;
  // The stack has nodes whose text has not begun, with the number of brackets that end with them.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> todo = {{tree.root(), 0}};
  while (!todo.empty()) {
    const auto [node, closing] = todo.back();
    todo.pop_back();
    if (!text.empty()) text += ' ';
    if (tree.is_leaf(node)) {
      text += tree.word(node);
      for (std::uint32_t i = 0; i < closing; ++i) text += " )";
    } else {
      text += '(';
      todo.emplace_back(tree.right(node), closing + 1);
      todo.emplace_back(tree.left(node), 0);
    }
  }
  return text;
}

}  // namespace dynet_like::nn
