// What the tagger example learns: sentences from files, or generated ones.
#pragma once

#include <string>
#include <vector>

#include "examples/support/options.h"
#include "nn/data/tagged_sentences.h"

namespace dynet_like::examples {

using Sentences = std::vector<nn::TaggedSentence>;

struct TaggedData {
  Sentences train, dev, test;
  /// What is counted, as the report names it: "upos_accuracy", "label_accuracy" or, where labels
  /// begin with "B-", "entity_f1".
  std::string score_name = "label_accuracy";
};

/// The files of --train, --dev and --test, those that are known in --data, or generated sentences.
/// Throws UsageError for options that do not go together, and FileError for files of no use.
TaggedData load_sentences(const Options& options);

}  // namespace dynet_like::examples
