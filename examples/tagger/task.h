// What the tagger example learns: sentences from files, or generated ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/tagger/encoding.h"
#include "examples/tagger/options.h"
#include "nn/data/tagged_sentences.h"

namespace dynet_like::examples {

/// Sentences in both forms, one by one the same.
struct TaggerData {
  std::vector<nn::TaggedSentence> sentences;
  std::vector<EncodedSentence> encoded;
};

struct TaggerTask {
  /// What is counted, as the report names it: "upos_accuracy", "label_accuracy" or, where labels
  /// begin with "B-", "entity_f1".
  std::string score_name;
  Encoding encoding;
  TaggerData train, dev, test;
  std::vector<std::vector<unsigned>> train_labels;
  std::string description;  ///< what was read or generated, for people
  std::string fingerprint;  ///< of the training and dev sentences: others have another one

  bool counts_entities() const { return score_name == "entity_f1"; }
};

/// Throws FileError for files of no use.
TaggerTask load_tagger_task(const TaggerOptions& options);

/// The number of words of each sentence.
std::vector<std::uint32_t> sentence_sizes(const std::vector<EncodedSentence>& sentences);

}  // namespace dynet_like::examples
