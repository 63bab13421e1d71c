// Sentiment trees in the bracket format of the Stanford Sentiment Treebank, read and written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "nn/data/text_lines.h"
#include "nn/data/tree.h"

namespace dynet_like::nn {

/// Limits for treebanks. All sizes are checked before memory is allocated.
struct TreebankOptions {
  /// Labels are 0 to label_count - 1.
  int label_count = 5;
  /// The most brackets that may be open at once, as Tree::depth() (30 in the treebank).
  std::size_t max_depth = 10'000;
  TextLimits limits = {};
};

/// Reads one tree such as "(3 (2 It) (4 (2 's) (3 good)))" (Socher et al. 2013): a node is a label
/// and either one word or exactly two nodes. Only ASCII spaces and parentheses end a word. A leaf
/// has the label of its bracket. Throws FileError with `file`, line and column.
Tree parse_tree(std::string_view line, const std::string& file, std::size_t line_number,
                const TreebankOptions& options = {});

/// Reads a file of one tree per line; blank lines are skipped and lines may end in "\r\n".
/// Throws FileError if the file is missing, without trees, too large or malformed.
std::vector<Tree> read_treebank(TextSource source, const TreebankOptions& options = {});

/// The tree on one line; parse_tree reads it back. Throws UsageError for a tree that the format
/// does not allow: empty, not binary, without labels, or with brackets in words.
std::string to_string(const Tree& tree);

}  // namespace dynet_like::nn
