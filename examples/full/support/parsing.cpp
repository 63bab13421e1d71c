// Treebanks, and vocabularies of their words.
#include "examples/full/support/parsing.h"

#include <fmt/core.h>

#include "examples/full/support/generated.h"
#include "examples/full/support/word_vectors.h"
#include "nn/nn.h"

namespace dynet_like::examples {

namespace {

using Word = nn::ConlluColumns;

std::vector<std::string> with_root(std::vector<std::string> words) {
  words.insert(words.begin(), "<root>");
  return words;
}

}  // namespace

nn::Splits<nn::ConlluSentence> load_trees(const Options& options) {
  options.need_all_or_none({"train", "dev", "test"});
  const auto read = [&](const char* name) { return nn::read_conllu(options.text(name)); };
  if (options.has("train")) return {read("train"), read("dev"), read("test")};
  const auto make = [&](auto n, int part) { return generated_trees(n, options.seed() + part); };
  return {make(options.whole("train-sentences"), 0), make(200, 1), make(500, 2)};
}

std::vector<nn::ConlluSentence> projective_trees(std::vector<nn::ConlluSentence> trees) {
  const auto others = std::erase_if(
      trees, [](const auto& tree) { return !nn::TransitionSystem::can_make(tree.heads()); });
  if (trees.empty())
    throw UsageError("need a tree without crossing arcs and with one root to learn from; got none");
  fmt::print("left out {} training trees, which transitions cannot build\n", others);
  return trees;
}

void report_test(nlohmann::json& report, const nn::AttachmentScores& scores) {
  fmt::print("test: UAS {:.1f} %, LAS {:.1f} % of {} words\n", 100 * scores.unlabelled(),
             100 * scores.labelled(), scores.words());
  report.update({{"uas", scores.unlabelled()}, {"las", scores.labelled()}});
}

TreeVocabularies::TreeVocabularies(const std::vector<nn::ConlluSentence>& sentences,
                                   const Options& options)
    : words(normalisation_of(options)) {
  for (nn::Vocabulary* vocabulary : {&words, &tags}) vocabulary->set_unknown("<unknown>");
  for (const nn::ConlluSentence& sentence : sentences) {
    words.add_all(with_root(sentence.column(&Word::form)));
    tags.add_all(with_root(sentence.column(&Word::upos)));
    labels.add_all(sentence.column(&Word::deprel));
  }
  words = known_words(words, options);
}

TreeVocabularies::TreeVocabularies(const nn::SavedModel& saved)
    : words(saved.vocabulary("words")),
      tags(saved.vocabulary("tags")),
      labels(saved.vocabulary("labels")) {}

std::vector<std::uint32_t> TreeVocabularies::word_ids(const nn::ConlluSentence& sentence) const {
  return words.ids(with_root(sentence.column(&Word::form)));
}

std::vector<std::uint32_t> TreeVocabularies::tag_ids(const nn::ConlluSentence& sentence) const {
  return tags.ids(with_root(sentence.column(&Word::upos)));
}

std::vector<std::uint32_t> TreeVocabularies::label_ids(const nn::ConlluSentence& sentence) const {
  return labels.ids(sentence.column(&Word::deprel));
}

Metadata TreeVocabularies::texts() const {
  return {{"words", words.to_text()}, {"tags", tags.to_text()}, {"labels", labels.to_text()}};
}

}  // namespace dynet_like::examples
