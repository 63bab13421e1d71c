// Data of the tagger example: sentences from files, or generated ones.
#pragma once

#include <string>

#include "examples/full/support/options.h"
#include "nn/data/splits.h"
#include "nn/data/tagged_sentences.h"

namespace dynet_like::examples {

struct TaggedData : nn::Splits<nn::TaggedSentence> {
  /// The measure, by its name in the report: "upos_accuracy", "label_accuracy" or, if labels begin
  /// with "B-", "entity_f1".
  std::string score_name = "label_accuracy";

  bool has_entities() const { return score_name == "entity_f1"; }
};

/// Loads the files of --train, --dev and --test, or generates sentences. Throws UsageError for
/// options that do not go together, and FileError for files that cannot be used.
TaggedData load_sentences(const Options& options);

}  // namespace dynet_like::examples
