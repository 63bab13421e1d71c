// JointParser: tags, lemmas and dependency trees of sentences, on one encoder.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nn/biaffine.h"
#include "nn/data/conllu.h"
#include "nn/data/vocabulary.h"
#include "nn/linear.h"
#include "nn/pipeline/text_reader.h"
#include "nn/pipeline/word_encoder.h"

namespace dynet_like::nn {

struct JointParserOptions {
  unsigned tags = 200;    ///< the size of the hidden layer for tags and lemmas
  unsigned arcs = 200;    ///< the size of a word's vector as head or dependant
  unsigned labels = 100;  ///< the same for labels of arcs
  /// The dropout rate, at least 0 and below 1.
  float dropout = 0.33f;
  std::string name = {};
};

/// The values of the columns that a JointParser predicts. A class of FEATS is a whole value; those
/// of lemmas are edit scripts, "<word>" for the word itself.
struct JointParserVocabularies {
  Vocabulary upos, xpos, feats, lemmas, labels;

  static JointParserVocabularies of(std::span<const ConlluSentence> sentences);
};

/// Tags, lemmas, heads and labels share the vectors of an encoder: classes by a layer for all of
/// them, trees by biaffine scores (Dozat and Manning 2017; Straka 2018 for all tasks together).
class JointParser {
 public:
  /// Adds its layers to a subcollection of `model`, by default "joint_parser". Throws UsageError
  /// for an empty vocabulary.
  JointParser(ParameterCollection& model, SentenceEncoder encoder,
              JointParserVocabularies vocabularies, const JointParserOptions& options = {});
  // Moving copies, so that a moved-from object still has its layers.
  JointParser(const JointParser&) = default;
  JointParser& operator=(const JointParser&) = default;

  /// The sum of the losses of all columns of all words. Shapes: {1}. Throws UsageError for a word
  /// without a head, and for a value that is not in its vocabulary.
  Expression loss(ComputationGraph& graph, const ConlluSentence& sentence) const;
  /// Sets LEMMA, UPOS, XPOS, FEATS, HEAD and DEPREL of sentences. One word depends on the root,
  /// with the label "root" if there is one.
  void annotate(std::span<ConlluSentence> sentences, const RunSamples& run) const;

  const JointParserVocabularies& vocabularies() const { return vocabularies_; }

 private:
  /// Scores of arcs {n + 1, n} and of classes {classes, n}; vectors for labels {labels, n + 1} and
  /// {labels, n}.
  struct Scores {
    Expression arcs, upos, xpos, feats, lemmas, label_heads, label_dependants;
  };
  Scores scores(ComputationGraph& graph, const ConlluSentence& sentence) const;
  void set_tags(ConlluSentence& sentence, std::span<const Tensor> values) const;
  void set_labels(ConlluSentence& sentence, const Tensor& of_arcs) const;

  ParameterCollection own_;  // with the parameters of the members below
  SentenceEncoder encoder_;
  JointParserVocabularies vocabularies_;
  unsigned arc_size_, label_size_;
  Parameter root_;
  Linear tag_layer_, tags_, roles_;
  BiaffineArcs arcs_;
  BiaffineLabels labels_;
  float dropout_;
};

}  // namespace dynet_like::nn
