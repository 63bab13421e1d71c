// What the models of the parser have in common.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "examples/full/support/encoder.h"
#include "nn/data/conllu.h"
#include "nn/data/vocabulary.h"
#include "nn/nn.h"

namespace dynet_like::examples {

using Sentence = nn::ConlluSentence;
using Sentences = std::vector<Sentence>;

/// Numbers of words, parts of speech and labels of arcs. The first two have an unknown one. The
/// root comes before the words of a sentence.
struct TreeVocabularies {
  /// The words are those of known_words().
  TreeVocabularies(const Sentences& sentences, const Options& options);
  /// The vocabularies that are saved with a model. Throws FileError if they are not there.
  explicit TreeVocabularies(const nn::SavedModel& saved);

  std::vector<unsigned> word_ids(const Sentence& sentence) const;
  /// The same with unknown words in place of some, rare ones most often.
  std::vector<unsigned> word_ids(const Sentence& sentence, Random& random) const;
  std::vector<unsigned> tag_ids(const Sentence& sentence) const;
  /// Without the root.
  std::vector<unsigned> label_ids(const Sentence& sentence) const;
  /// For TrainingOptions::texts.
  Metadata texts() const;

  nn::Vocabulary words, tags, labels;
};

/// What a model reads: vectors of words and parts of speech, and what a pretrained encoder finds,
/// if there is one.
struct Inputs {
  ParameterCollection& parameters;
  const Options& options;
  TreeVocabularies v;
  std::optional<nn::TextEncoder> pretrained;
  float rate = options.real("dropout");
  unsigned hidden = options.whole("hidden");
  nn::Embedding words{parameters, v.words.size(), options.whole("embedding"), {.name = "words"}};
  nn::Embedding tags{parameters, v.tags.size(), hidden / 4, {.name = "tags"}};

  unsigned outputs() const { return words.outputs() + tags.outputs() + size_of(pretrained); }
  /// A column for the root, and one for every word. Shapes: {outputs, n + 1}.
  Expression operator()(const Expression& word, const Expression& tag,
                        const Sentence& sentence) const;
  /// What an encoder finds, with dropout. Shapes: {outputs, n + 1} -> {2 * hidden, n + 1}.
  Expression encoded(const nn::BidirectionalLSTM& encoder, const Expression& x) const;
};

/// The heads of a sentence's words, and then the numbers of their labels.
using HeadsAndLabels = std::vector<std::vector<unsigned>>;

/// Parses one sentence. Where it looks at a value, it waits for the other sentences of a minibatch.
class ParserModel {
 public:
  virtual ~ParserModel() = default;
  /// The sum of the losses of heads and labels.
  virtual Expression loss(ComputationGraph& graph, const Sentence& sentence) const = 0;
  virtual HeadsAndLabels tree(ComputationGraph& graph, const Sentence& sentence) const = 0;
};

// The inputs must outlive the models.

std::unique_ptr<ParserModel> new_biaffine_model(const Inputs& inputs);
std::unique_ptr<ParserModel> new_transition_model(const Inputs& inputs);
std::unique_ptr<ParserModel> new_stack_lstm_model(const Inputs& inputs);

}  // namespace dynet_like::examples
