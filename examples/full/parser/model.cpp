// Vocabularies of treebanks, and the columns of words.
#include "examples/full/parser/model.h"

#include "examples/full/support/word_vectors.h"

namespace dynet_like::examples {

namespace {

using Word = nn::ConlluColumns;

constexpr double kRare = 0.25;  // a word with n occurrences is dropped at kRare / (kRare + n)

std::vector<std::string> with_root(std::vector<std::string> words) {
  words.insert(words.begin(), "<root>");
  return words;
}

}  // namespace

TreeVocabularies::TreeVocabularies(const Sentences& sentences, const Options& options)
    : words(normalisation_of(options)) {
  for (nn::Vocabulary* vocabulary : {&words, &tags}) vocabulary->set_unknown("<unknown>");
  for (const Sentence& sentence : sentences) {
    words.add_all(with_root(sentence.forms()));
    tags.add_all(with_root(sentence.column(&Word::upos)));
    labels.add_all(sentence.column(&Word::deprel));
  }
  words = known_words(words, options);
}

TreeVocabularies::TreeVocabularies(const nn::SavedModel& saved)
    : words(saved.vocabulary("words")),
      tags(saved.vocabulary("tags")),
      labels(saved.vocabulary("labels")) {}

std::vector<unsigned> TreeVocabularies::word_ids(const Sentence& sentence) const {
  return words.ids(with_root(sentence.forms()));
}

std::vector<unsigned> TreeVocabularies::word_ids(const Sentence& sentence, Random& random) const {
  std::vector<unsigned> ids = word_ids(sentence);
  for (unsigned& id : ids) {
    if (random.uniform() < kRare / (kRare + words.count(id))) id = *words.unknown();
  }
  return ids;
}

std::vector<unsigned> TreeVocabularies::tag_ids(const Sentence& sentence) const {
  return tags.ids(with_root(sentence.column(&Word::upos)));
}

std::vector<unsigned> TreeVocabularies::label_ids(const Sentence& sentence) const {
  return labels.ids(sentence.column(&Word::deprel));
}

Metadata TreeVocabularies::texts() const {
  return {{"words", words.to_text()}, {"tags", tags.to_text()}, {"labels", labels.to_text()}};
}

Expression Inputs::operator()(const Expression& word, const Expression& tag,
                              const Sentence& sentence) const {
  if (!pretrained) return concatenate({word, tag});
  ComputationGraph& graph = word.graph();
  const Expression found = pretrained->words(graph, sentence.forms());
  const Expression root = zeros(graph, {size_of(pretrained)});
  return concatenate({word, tag, dropout(concatenate_cols({root, found}), rate)});
}

Expression Inputs::encoded(const nn::BidirectionalLSTM& encoder, const Expression& x) const {
  std::vector<Expression> xs;
  for (unsigned i = 0; i < x.dim().cols(); ++i) xs.push_back(pick(x, i, 1));
  return dropout(concatenate_cols(encoder(xs)), rate);
}

}  // namespace dynet_like::examples
