// Data of parsers: sentences with their trees, and the numbers of words and labels.
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

/// Loads the files of --train, --dev and --test, or generates --train-sentences trees, and more for
/// dev and test. Throws UsageError unless all or none of these files are given, and FileError.
nn::Splits<nn::ConlluSentence> load_trees(const Options& options);

/// Divides sentences among processes: parse(minibatches) parses those of this process, `together`
/// at once. Afterwards all processes have all trees.
void share_trees(Communicator& ranks, std::size_t together,
                 std::vector<nn::ConlluSentence>& sentences,
                 const std::function<void(const nn::Minibatches&)>& parse);

/// Numbers of words, parts of speech and labels of arcs. The first two have an unknown one. The
/// root comes before the words of a sentence.
struct TreeVocabularies {
  /// The words are those of known_words().
  TreeVocabularies(const std::vector<nn::ConlluSentence>& sentences, const Options& options);
  /// The vocabularies that are saved with a model. Throws FileError if they are not there.
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
