// What parsers learn from: sentences with their trees, and the numbers of words and labels.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "examples/full/support/options.h"
#include "nn/data/conllu.h"
#include "nn/data/minibatches.h"
#include "nn/data/splits.h"
#include "nn/data/vocabulary.h"
#include "nn/train.h"

namespace dynet_like::examples {

/// The files of --train, --dev and --test, or --train-sentences that are generated, and more for
/// dev and test. Throws UsageError unless all of these files are given or none, and FileError.
nn::Splits<nn::ConlluSentence> load_trees(const Options& options);

/// Lets processes share sentences to parse: parse(minibatches) parses those of this one, so many
/// sentences together, and all get all trees.
void share_trees(Communicator& ranks, std::size_t together,
                 std::vector<nn::ConlluSentence>& sentences,
                 const std::function<void(const nn::Minibatches&)>& parse);

/// Words, parts of speech and labels of arcs have numbers; the first two may be unknown. The root
/// stands before the words of a sentence.
struct TreeVocabularies {
  /// Of words those that known_words() gives.
  TreeVocabularies(const std::vector<nn::ConlluSentence>& sentences, const Options& options);
  /// Those of texts(), with a model. Throws FileError if they are not there.
  explicit TreeVocabularies(const nn::SavedModel& saved);

  std::vector<std::uint32_t> word_ids(const nn::ConlluSentence& sentence) const;
  std::vector<std::uint32_t> tag_ids(const nn::ConlluSentence& sentence) const;
  /// Without the root.
  std::vector<std::uint32_t> label_ids(const nn::ConlluSentence& sentence) const;
  /// For TrainingOptions::texts.
  Metadata texts() const;

  nn::Vocabulary words, tags, labels;
};

}  // namespace dynet_like::examples
