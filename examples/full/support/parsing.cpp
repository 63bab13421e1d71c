// Treebanks, and vocabularies of their words.
#include "examples/full/support/parsing.h"

#include <sstream>

#include "examples/full/support/generated.h"
#include "examples/full/support/word_vectors.h"

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

// Exchanges heads and labels as texts, since parsing changes only these.
void share_trees(Communicator& ranks, std::size_t together,
                 std::vector<nn::ConlluSentence>& sentences,
                 const std::function<void(const nn::Minibatches&)>& parse) {
  const nn::Minibatches all = nn::sorted_minibatches(nn::sizes_of(sentences), together);
  std::vector<nn::Minibatches> by_rank(ranks.size());
  for (std::size_t i = 0; i < all.size(); ++i) by_rank[i % ranks.size()].push_back(all[i]);
  parse(by_rank[ranks.rank()]);
  if (ranks.size() == 1) return;
  std::vector<nn::ConlluSentence> mine;
  for (const auto& some : by_rank[ranks.rank()]) {
    for (const std::uint32_t i : some) mine.push_back(sentences[i]);
  }
  const std::vector<std::string> texts = gather_texts(ranks, nn::to_conllu(mine));
  for (unsigned r = 0; r < ranks.size(); ++r) {
    if (by_rank[r].empty()) continue;
    std::istringstream in(texts[r]);
    const auto parsed = nn::read_conllu(in, ranks.name(r), {.max_file_bytes = texts[r].size()});
    auto next = parsed.begin();
    for (const auto& some : by_rank[r]) {
      for (const std::uint32_t i : some) sentences[i] = *next++;
    }
  }
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
