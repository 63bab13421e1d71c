// ListOps: nested list operations over digits, read, written, evaluated and generated
// (Nangia and Bowman 2018, "ListOps: A Diagnostic Dataset for Latent Tree Learning").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "dynet_like/core/random.h"
#include "nn/data/text_lines.h"
#include "nn/data/tree.h"
#include "nn/data/tree_splits.h"

namespace dynet_like::nn {

// An expression is a digit or an operator with arguments that are expressions: MIN, MAX, MED (the
// median, rounded down) or SM (the sum modulo 10). As a binary tree, an operator takes its
// arguments one at a time from the left and a closing token last: [MAX 2 9 ] is
// "( ( ( [MAX 2 ) 9 ) ] )". The leaves are the tokens "[MIN", "[MAX", "[MED", "[SM", "0" to "9" and
// "]". Digits and closed operators are labelled with their value, all other nodes have kNoLabel.

/// The tokens of the operators.
inline constexpr std::array<std::string_view, 4> kListOpsOperators = {"[MIN", "[MAX", "[MED",
                                                                      "[SM"};

/// Limits for files. All sizes are checked before memory is allocated.
struct ListOpsFileOptions {
  /// Whether a label that differs from the value of its expression is an error. If not, the root
  /// keeps the label of the file.
  bool check_values = true;
  /// The most brackets that may be open at once (84 in the original test file).
  std::size_t max_depth = 10'000;
  TextLimits limits = {};
};

/// Reads a line "label TAB expression" of the original files. An operator may have any number of
/// arguments, at least 1. Throws FileError with `file`, line and column.
Tree parse_listops(std::string_view line, const std::string& file, std::size_t line_number,
                   const ListOpsFileOptions& options = {});

/// Reads an original file, one expression per line; blank lines are skipped. Throws FileError if it
/// is missing, without expressions, too large or malformed.
std::vector<Tree> read_listops(const std::string& path, const ListOpsFileOptions& options = {});

/// Reads expressions from a stream; `file` is its name in messages.
std::vector<Tree> read_listops(std::istream& stream, const std::string& file,
                               const ListOpsFileOptions& options = {});

/// The expression in the original form, without its label. Throws as listops_values does.
std::string listops_string(const Tree& tree);

/// The value of every node, computed from the words and the shape alone; kNoLabel if the node is
/// not a complete expression. Throws UsageError for a tree that is not an expression.
std::vector<std::int32_t> listops_values(const Tree& tree);

/// The value of the expression, 0 to 9. Throws UsageError for a tree that is not an expression.
std::int32_t evaluate_listops(const Tree& tree);

/// The number of operators of an expression.
std::uint32_t count_operators(const Tree& tree);

/// How deep operators are nested: 1 for a digit; for an operator, 1 more than its deepest argument.
/// The generator limits this, not the depth of the binary tree.
std::uint32_t listops_depth(const Tree& tree);

/// How expressions are drawn. The first three defaults are those of the original data.
struct ListOpsGeneratorOptions {
  /// The probability of a digit, where an operator is possible, too.
  double digit_probability = 0.75;
  /// The top of an expression has depth 1, and an argument 1 more than its operator. At max_depth
  /// there are only digits. So 20 means at most 19 nested operators.
  std::uint32_t max_depth = 20;
  /// An operator has 2 to max_arguments arguments, each number with the same probability.
  std::uint32_t max_arguments = 5;
  /// Expressions with fewer operators or more tokens (operators, digits and "]") are drawn again.
  std::uint32_t min_operators = 0;
  std::uint32_t max_tokens = 10'000;
};

/// Draws random expressions.
class ListOpsGenerator {
 public:
  /// `random` must outlive the generator. Throws UsageError for options that no tree satisfies.
  explicit ListOpsGenerator(Random& random, const ListOpsGeneratorOptions& options = {});

  /// One labelled expression. Throws UsageError if a million draws in a row do not satisfy the
  /// options.
  Tree generate();

  /// `count` expressions that differ from each other and from those in `seen`, which has
  /// expressions in the form of listops_string. Adds the result to `seen`: with the same set,
  /// training and test data are disjoint. Throws UsageError if a million draws in a row give
  /// nothing new.
  std::vector<Tree> generate_distinct(std::size_t count, std::unordered_set<std::string>& seen);
  std::vector<Tree> generate_distinct(std::size_t count);

 private:
  bool try_generate(Tree& tree);

  Random& random_;
  ListOpsGeneratorOptions options_;
};

/// How many expressions are generated, and how many tokens they may have.
struct ListOpsSizes {
  std::size_t train = 80'000, dev = 2'000, test = 2'000;
  std::uint32_t max_tokens = 100;
};

/// The trees of the files. Without a file name, and always for dev, they are generated. Generated
/// trees are all different, also across splits. Those for training have at least 1 operator, the
/// others at least 3: smaller expressions are easy, and many. Throws FileError as read_listops
/// does, and UsageError as the generator does.
TreeSplits listops_splits(const std::string& train_file, const std::string& test_file,
                          const ListOpsSizes& sizes, std::uint64_t seed);

}  // namespace dynet_like::nn
