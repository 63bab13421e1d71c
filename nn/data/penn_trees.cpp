// Reads and writes Penn Treebank brackets. A vector is the stack of open brackets.
#include "nn/data/penn_trees.h"

#include <utility>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet_like::nn {

namespace {

constexpr std::string_view kTrace = "-NONE-";
constexpr char kJoin = '+';

/// A bracket that is still open, and where it is.
struct OpenBracket {
  std::size_t line, column;
  std::string label, word;
  std::uint32_t children = 0;
  bool has_parts = false;  ///< also parts that were left out
};

/// "NP" for "NP-SBJ=1"; tags such as "-LRB-" stay.
std::string_view without_functions(std::string_view label) {
  return label.starts_with('-') ? label : label.substr(0, label.find_first_of("-=", 1));
}

class PennParser {
 public:
  PennParser(const std::string& file, Vocabulary& labels, const PennOptions& options)
      : file_(file), labels_(labels), options_(options) {}

  void add(std::string_view line, std::size_t number) {
    line_ = number;
    BracketTokens tokens(line);
    for (std::string_view token; !(token = tokens.next()).empty();) {
      column_ = tokens.column();
      if (token == "(") {
        open();
      } else if (token == ")") {
        close();
      } else {
        add_text(token);
      }
    }
  }

  std::vector<Tree> finish() {
    if (!open_.empty()) {
      line_ = open_.back().line;
      column_ = open_.back().column;
      fail("need a closing bracket for this one; got the end of the file");
    }
    if (trees_.empty()) throw FileError(file_, "need at least one tree; got none");
    return std::move(trees_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw FileError(file_, what, line_, column_);
  }

  void open() {
    if (!open_.empty() && !open_.back().word.empty()) {
      fail("need one word or subtrees in a bracket; got a subtree after a word");
    }
    if (open_.size() >= options_.max_depth) {
      fail("need a depth of at most " + std::to_string(options_.max_depth));
    }
    if (!open_.empty()) open_.back().has_parts = true;
    open_.push_back({.line = line_, .column = column_, .label = {}, .word = {}});
  }

  // A label or, after it, a word.
  void add_text(std::string_view text) {
    if (open_.empty()) fail("need \"(\" at the start of a tree; got " + detail::quoted_text(text));
    OpenBracket& bracket = open_.back();
    if (bracket.has_parts || !bracket.word.empty()) {
      fail("need one word or subtrees in a bracket; got also " + detail::quoted_text(text));
    }
    if (bracket.label.empty()) {
      bracket.label = options_.functions ? text : without_functions(text);
    } else {
      bracket.word = text;
    }
  }

  void close() {
    if (open_.empty()) fail("need a bracket to close; got none");
    const OpenBracket bracket = std::move(open_.back());
    open_.pop_back();
    if (bracket.word.empty() && !bracket.has_parts) {
      fail("need a label and a word, or subtrees, in a bracket; got " +
           (bracket.label.empty() ? "nothing" : detail::quoted_text(bracket.label)));
    }
    const bool has_node = !bracket.word.empty() ? add_leaf(bracket) : add_phrase(bracket);
    if (!open_.empty()) {
      open_.back().children += has_node ? 1 : 0;
    } else if (has_node) {
      trees_.push_back(std::exchange(tree_, Tree()));
    }
  }

  bool add_leaf(const OpenBracket& bracket) {
    if (bracket.label == kTrace && !options_.traces) return false;
    tree_.add_leaf(label(bracket.label), bracket.word);
    return true;
  }

  bool add_phrase(const OpenBracket& bracket) {
    if (bracket.children == 0) return false;  // of traces alone
    const std::uint32_t child = tree_.root();
    if (bracket.children > 1) {
      if (bracket.label.empty()) fail("need a label for several subtrees; got none");
      tree_.add_parent(label(bracket.label), bracket.children);
    } else if (bracket.label.empty()) {
      // The tree is its child.
    } else if (options_.join_unary && !tree_.is_leaf(child)) {
      const std::string& own = labels_.word(static_cast<std::uint32_t>(tree_.label(child)));
      tree_.set_label(child, label(bracket.label + kJoin + own));
    } else {
      tree_.add_parent(label(bracket.label), 1);
    }
    return true;
  }

  std::int32_t label(const std::string& text) {
    if (labels_.frozen() && !labels_.contains(text) && !labels_.unknown()) {
      fail("need a label of the vocabulary; got " + detail::quoted_text(text));
    }
    return static_cast<std::int32_t>(labels_.add(text));
  }

  const std::string& file_;
  Vocabulary& labels_;
  const PennOptions& options_;
  std::size_t line_ = 0, column_ = 0;
  std::vector<OpenBracket> open_;
  Tree tree_;
  std::vector<Tree> trees_;
};

// Appends a bracket for each of the labels that were joined. Returns their number.
std::uint32_t append_labels(std::string& text, const std::string& joined) {
  std::uint32_t count = 0;
  for (std::size_t begin = 0; begin < joined.size(); ++count) {
    const std::size_t end = std::min(joined.find(kJoin, begin + 1), joined.size());
    text += (text.empty() ? "(" : " (") + joined.substr(begin, end - begin);
    begin = end + 1;
  }
  return count;
}

}  // namespace

std::vector<Tree> read_penn_trees(TextSource source, Vocabulary& labels,
                                  const PennOptions& options) {
  LineReader lines(std::move(source), options.limits);
  PennParser parser(lines.name(), labels, options);
  while (const auto line = lines.next()) parser.add(line->text, line->number);
  return parser.finish();
}

std::string to_penn(const Tree& tree, const Vocabulary& labels) {
  std::string text;
  // The stack has nodes whose text has not begun, with the number of brackets that end with them.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> todo = {{tree.root(), 0}};
  while (!todo.empty()) {
    const auto [node, closing] = todo.back();
    todo.pop_back();
    if (tree.label(node) < 0) throw UsageError("[to_penn] need a label at every node; got none");
    const std::string& label = labels.word(static_cast<std::uint32_t>(tree.label(node)));
    if (tree.is_leaf(node)) {
      const std::string& word = tree.word(node);
      if (word.empty() || word.find_first_of(" ()\n") != word.npos) {
        throw UsageError("[to_penn] need a word without spaces and brackets; got " +
                         detail::quoted_text(word));
      }
      text += (text.empty() ? "(" : " (") + label + ' ' + word;
      text.append(closing + 1, ')');
      continue;
    }
    const std::uint32_t brackets = append_labels(text, label);
    const auto children = tree.children(node);
    for (std::size_t i = children.size(); i-- > 0;) {
      todo.emplace_back(children[i], i + 1 == children.size() ? closing + brackets : 0);
    }
  }
  return text;
}

}  // namespace dynet_like::nn
