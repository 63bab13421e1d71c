// The two tasks of the Tree-LSTM example: ListOps and sentiment trees.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "examples/tree_lstm/options.h"
#include "nn/data/tree.h"
#include "nn/data/vocabulary.h"

namespace dynet_like::examples {

/// A tree with its leaves' words as numbers.
struct Sample {
  nn::Tree tree;
  std::vector<std::uint32_t> words;
  std::uint32_t operators = 0;  ///< of ListOps; else 0

  std::int32_t label() const { return tree.label(tree.root()); }
};

enum class TaskKind { listops, sentiments };

/// "listops" and "sst", and the number of labels.
const char* name_of(TaskKind kind);
std::uint32_t labels_of(TaskKind kind);

struct Task {
  TaskKind kind;
  nn::Vocabulary vocabulary;
  std::vector<Sample> train, dev, test;
  std::string description;  ///< what was read or generated, for people
  std::string fingerprint;  ///< of the training and dev trees: others have another one
};

/// ListOps trees: those to train on, to choose on and to test on are different expressions. Those
/// to choose on have at least 3 operators, the others at least 1. With --listops-test, the file's
/// trees are tested, but for those that are used in training as well. Or the trees of a folder;
/// words that are rare in train.txt share one number. Throws FileError for files of no use.
Task load_task(const Options& options);

/// Trees to apply a model to, one per line: of a treebank, or in ListOps' original format. Their
/// labels do not matter; blank lines are no trees. The first line has number `first`. Throws
/// FileError with the number of a malformed one.
std::vector<Sample> read_samples(std::span<const std::string> lines, std::size_t first,
                                 TaskKind kind, const nn::Vocabulary& vocabulary);

}  // namespace dynet_like::examples
