// Constituency trees in the bracket format of the Penn Treebank, read and written.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "nn/data/text_lines.h"
#include "nn/data/tree.h"
#include "nn/data/vocabulary.h"

namespace dynet_like::nn {

/// What is left of the trees of a file. By default, what parsers learn.
struct PennOptions {
  bool functions = false;  ///< keep all of a label such as "NP-SBJ=1", not only "NP"
  bool traces = false;     ///< keep words with the tag "-NONE-", and phrases of such words alone
  /// Joins a phrase with its only child, if that is a phrase too: "(S (VP ...))" becomes the label
  /// "S+VP", so that every span has one label. to_penn splits labels at "+".
  bool join_unary = false;
  std::size_t max_depth = 10'000;  ///< the most brackets that may be open at once
  TextLimits limits = {};
};

/// Reads trees such as "( (S (NP (PRP It)) (VP (VBZ works))) )" (Marcus et al. 1993), on any number
/// of lines. A bracket without a label around one tree is dropped. Leaves have their tags as
/// labels. Adds all labels to `labels`. Throws FileError, with line and column, if the file is
/// missing, without trees, too large or malformed, and for a label that a frozen vocabulary without
/// an unknown word lacks.
std::vector<Tree> read_penn_trees(TextSource source, Vocabulary& labels,
                                  const PennOptions& options = {});

/// The tree on one line, as evalb reads it. Throws UsageError for an empty tree, for labels that
/// the vocabulary lacks, and for words that are empty or have spaces or brackets.
std::string to_penn(const Tree& tree, const Vocabulary& labels);

}  // namespace dynet_like::nn
