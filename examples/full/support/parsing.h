// Data of parsers: sentences with their trees, and the numbers of words and labels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "examples/full/support/options.h"
#include "nn/data/conllu.h"
#include "nn/data/splits.h"
#include "nn/data/vocabulary.h"
#include "nn/train.h"

namespace dynet_like::examples {

/// Loads the files of --train, --dev and --test, or generates --train-sentences trees, and more for
/// dev and test. Throws UsageError unless all or none of these files are given, and FileError.
nn::Splits<nn::ConlluSentence> load_trees(const Options& options);

/// The trees that transitions can build: without crossing arcs, and with one root. Prints how many
/// others there are. Throws UsageError if all are others.
std::vector<nn::ConlluSentence> projective_trees(std::vector<nn::ConlluSentence> trees);

/// The heads of a sentence's words, and then the numbers of their labels.
using HeadsAndLabels = std::vector<std::vector<unsigned>>;
/// The same sentences with the heads and labels that parse(graph, sentence) finds.
template <class Parse>
std::vector<nn::ConlluSentence> parsed(std::vector<nn::ConlluSentence> sentences,
                                       const nn::Vocabulary& labels, const Parse& parse,
                                       nn::PredictionOptions how) {
  const std::vector<std::uint32_t> sizes = nn::sizes_of(sentences);
  how.sizes = sizes;
  const std::vector<HeadsAndLabels> found = nn::predict(sentences, parse, how);
  for (std::size_t i = 0; i < found.size(); ++i) {
    sentences[i].set_heads(found[i][0]);
    sentences[i].set_column(&nn::ConlluColumns::deprel, labels.words(found[i][1]));
  }
  return sentences;
}

/// The scores of the trees that a model finds.
template <class Model>
nn::AttachmentScores attachment_scores(const Model& model,
                                       const std::vector<nn::ConlluSentence>& gold) {
  return nn::AttachmentScores(gold, model.parse(gold));
}

/// How a parser learns from trees. The model and the dev sentences must outlive the options.
template <class Model>
nn::TrainingOptions parser_training(const Options& options, const Model& model,
                                    const std::vector<nn::ConlluSentence>& trees,
                                    const std::vector<nn::ConlluSentence>& dev) {
  nn::TrainingOptions training = options.training("sentences", "LAS");
  const nn::CosineRate cosine = {.peak = options.real("learning-rate"),
                                 .updates = training.updates(trees.size()),
                                 .floor = 1e-5f};
  training.schedule = nn::WarmUp{100, cosine};
  training.texts = model.v.texts();
  training.sizes = nn::sizes_of(trees);
  training.dev_score = [&model, &dev] { return attachment_scores(model, dev).labelled(); };
  return training;
}

/// Prints the scores of the best model on the test data, and adds them to the report.
void report_test(nlohmann::json& report, const nn::AttachmentScores& scores);

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
