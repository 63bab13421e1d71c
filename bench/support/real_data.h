// Real data for benchmarks, in place of the synthetic data of the same kind.
#pragma once

#include <string>
#include <vector>

#include "bench/support/data.h"
#include "bench/support/program.h"

namespace dynet_like::bench {

/// Files that make_trees() and make_sentences() take their instances from; if empty, they draw
/// them.
struct RealFiles {
  std::string trees;      ///< in the format of the Stanford Sentiment Treebank
  std::string sentences;  ///< CoNLL-U
};
RealFiles& real_files();

/// Adds --trees and --sentences, which set real_files().
void add_real_files(Options& options);

/// As many instances of a file as are drawn otherwise, in random order, or all if there are fewer.
/// Sentences of one word are left out. The number of a word is its
/// rank by frequency in the file, and so is that of a tag; numbers that the options do not allow
/// are replaced by the largest that they allow. Labels of trees are those of the file. Throws
/// FileError.
std::vector<BinaryTree> read_trees(const std::string& file, const DataOptions& options);
std::vector<Sentence> read_sentences(const std::string& file, const DataOptions& options);

}  // namespace dynet_like::bench
