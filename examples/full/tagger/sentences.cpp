// Reads files, or generates sentences.
#include "examples/full/tagger/sentences.h"

#include <utility>

#include "examples/full/tagger/generator.h"

namespace dynet_like::examples {

namespace {

/// Splits "@name" and "#name" into two words, both inside an entity or both outside. Only the
/// training file of WNUT-17 has them as one word: "@" is followed by a place there.
nn::TaggedSentence with_split_marks(const nn::TaggedSentence& sentence) {
  nn::TaggedSentence result;
  for (std::size_t i = 0; i < sentence.words.size(); ++i) {
    std::string word = sentence.words[i], tag = sentence.tags[i];
    if (word.size() > 1 && (word[0] == '@' || word[0] == '#')) {
      result.words.push_back(word.substr(0, 1));
      result.tags.push_back(tag);
      word.erase(0, 1);
      if (tag.starts_with("B-")) tag[0] = 'I';
    }
    result.words.push_back(std::move(word));
    result.tags.push_back(std::move(tag));
  }
  return result;
}

TaggedData read_files(const std::string& train, const std::string& dev, const std::string& test) {
  const bool is_conllu = train.ends_with(".conllu");
  const auto read = is_conllu ? [](const std::string& path) { return nn::read_conllu_tags(path); }
                              : [](const std::string& path) { return nn::read_columns(path); };
  TaggedData data{{read(train), read(dev), read(test)}};
  if (is_conllu) data.score_name = "upos_accuracy";
  if (train.ends_with("wnut17train.conll")) {
    for (nn::TaggedSentence& sentence : data.train) sentence = with_split_marks(sentence);
  }
  for (const nn::TaggedSentence& sentence : data.train) {
    for (const std::string& tag : sentence.tags) {
      if (tag.starts_with("B-")) data.score_name = "entity_f1";
    }
  }
  return data;
}

}  // namespace

TaggedData load_sentences(const Options& options) {
  options.need_none("train", {"train-sentences", "test-sentences"});
  options.need_all_or_none({"train", "dev", "test"});
  if (options.has("train")) {
    return read_files(options.text("train"), options.text("dev"), options.text("test"));
  }
  Random random(options.seed());
  const unsigned train = options.whole("train-sentences"), test = options.whole("test-sentences");
  return {{generate_sentences(train, random), generate_sentences(test, random),
           generate_sentences(test, random)}};
}

}  // namespace dynet_like::examples
