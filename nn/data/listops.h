// ListOps: nested list operations over digits, read, written and evaluated
// (Nangia and Bowman 2018, "ListOps: A Diagnostic Dataset for Latent Tree Learning").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nn/data/text_lines.h"
#include "nn/data/tree.h"

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
std::vector<Tree> read_listops(TextSource source, const ListOpsFileOptions& options = {});

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
std::uint32_t listops_depth(const Tree& tree);

}  // namespace dynet_like::nn
