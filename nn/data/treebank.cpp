// Reads and writes sentiment trees. A vector is the stack of open brackets.
#include "nn/data/treebank.h"

#include <charconv>
#include <utility>

namespace dynet_like::nn {

namespace {

/// A bracket that is still open.
struct OpenBracket {
  std::size_t column;
  std::int32_t label;
  std::uint32_t child_count = 0;
  std::string_view word;
};

class TreeParser {
 public:
  TreeParser(std::string_view line, const std::string& file, std::size_t line_number,
             const TreebankOptions& options)
      : tokens_(line), file_(file), line_number_(line_number), options_(options) {}

  Tree parse() {
    std::string_view token;
    while (!(token = tokens_.next()).empty()) {
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
    if (tree_.size() == 0) fail("need a tree; got an empty line");
    return std::move(tree_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { fail(what, tokens_.column()); }
  [[noreturn]] void fail(const std::string& what, std::size_t column) const {
    throw FileError(file_, what, line_number_, column);
  }

  void open() {
    if (open_.empty() && tree_.size() != 0) fail("need one tree in a line; got a second one");
    if (!open_.empty() && !open_.back().word.empty()) {
      fail("need one word or two subtrees in a node; got a subtree after a word");
    }
    if (open_.size() >= options_.max_depth) {
      fail("need a depth of at most " + std::to_string(options_.max_depth));
    }
    const std::size_t column = tokens_.column();
    open_.push_back({.column = column, .label = read_label(), .child_count = 0, .word = {}});
  }

  std::int32_t read_label() {
    if (tokens_.at_bracket_or_end()) {
      tokens_.next();
      fail("label missing after an opening bracket");
    }
    const std::string_view text = tokens_.next();
    std::int32_t label = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), label);
    if (error != std::errc{} || end != text.data() + text.size() || label < 0 ||
        label >= options_.label_count) {
      fail("need a label from 0 to " + std::to_string(options_.label_count - 1) + "; got " +
           detail::quoted_text(text));
    }
    return label;
  }

  void add_word(std::string_view word) {
    if (open_.empty()) {
      fail((tree_.size() == 0 ? "need \"(\" at the start of a tree; got " : "text after a tree: ") +
           detail::quoted_text(word));
    }
    OpenBracket& node = open_.back();
    if (!node.word.empty()) {
      fail("need one word in a preterminal; got also " + detail::quoted_text(word));
    }
    if (node.child_count != 0) {
      fail("need one word or two subtrees in a node; got " + detail::quoted_text(word) +
           " after a subtree");
    }
    node.word = word;
  }

  void close() {
    if (open_.empty()) fail("superfluous closing bracket");
    const OpenBracket node = open_.back();
    open_.pop_back();
    if (!node.word.empty()) {
      tree_.add_leaf(node.label, node.word);
    } else {
      if (node.child_count == 0) fail("word missing before the closing bracket");
      if (node.child_count != 2) {
        fail("need exactly 2 subtrees in a node; got " + std::to_string(node.child_count),
             node.column);
      }
      tree_.add_parent(node.label, 2);
    }
    if (!open_.empty()) ++open_.back().child_count;
  }

  BracketTokens tokens_;
  const std::string& file_;
  std::size_t line_number_;
  const TreebankOptions& options_;
  std::vector<OpenBracket> open_;
  Tree tree_;
};

void check_writable(const Tree& tree, std::uint32_t node) {
  if (tree.label(node) < 0) throw UsageError("[to_string] need a label at every node");
  if (!tree.is_leaf(node)) {
    if (tree.children(node).size() != 2) {
      throw UsageError("[to_string] need 2 children; got " +
                       std::to_string(tree.children(node).size()));
    }
  } else if (tree.word(node).empty() ||
             tree.word(node).find_first_of(" ()\n") != std::string::npos) {
    throw UsageError("[to_string] need a word without spaces and brackets; got " +
                     detail::quoted_text(tree.word(node)));
  }
}

}  // namespace

Tree parse_tree(std::string_view line, const std::string& file, std::size_t line_number,
                const TreebankOptions& options) {
  TextLine{line, file, line_number}.check_bytes(options.limits);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (const std::size_t at = line.find('\n'); at != line.npos) {
    throw FileError(file, "need one line; got a line break", line_number, at + 1);
  }
  return TreeParser(line, file, line_number, options).parse();
}

std::vector<Tree> read_treebank(TextSource source, const TreebankOptions& options) {
  return parse_lines(std::move(source), options.limits, "tree", [&](const TextLine& line) {
    return parse_tree(line.text, line.file, line.number, options);
  });
}

std::string to_string(const Tree& tree) {
  if (tree.size() == 0) throw UsageError("[to_string] need a tree; got an empty one");
  std::string text;
  // The stack has nodes whose text has not begun, with the number of brackets that end with them.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> todo = {{tree.root(), 0}};
  while (!todo.empty()) {
    const auto [node, closing] = todo.back();
    todo.pop_back();
    check_writable(tree, node);
    text += (text.empty() ? "(" : " (") + std::to_string(tree.label(node));
    if (tree.is_leaf(node)) {
      text += ' ' + tree.word(node);
      text.append(closing + 1, ')');
    } else {
      todo.emplace_back(tree.right(node), closing + 1);
      todo.emplace_back(tree.left(node), 0);
    }
  }
  return text;
}

}  // namespace dynet_like::nn
