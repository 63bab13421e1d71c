// Reads files, or generates sentences.
#include "examples/full/tagger/sentences.h"

#include <utility>

#include "dynet_like/core/text.h"
#include "examples/full/support/tagging.h"
#include "examples/full/tagger/generator.h"
#include "nn/data/text.h"
#include "nn/text/characters.h"

namespace dynet_like::examples {

namespace {

/// The parts of a word that are words of their own in the development and test data of WNUT-17:
/// letters with their hyphens, digits, and every other character. Addresses of pages are one word.
Strings parts_of(const std::string& word) {
  if (word.starts_with("http") || !detail::is_utf8(word)) return {word};
  Strings parts;
  char before = ' ';
  for (const std::string& character : nn::split_line(word, nn::TextUnit::character)) {
    const char32_t code = nn::text::character_at(character, 0);
    const bool is_letter =
        nn::text::is_letter(code) || nn::text::is_mark(code) || (code == '-' && before == 'a');
    const char kind = is_letter ? 'a' : nn::text::is_number(code) ? '0' : '.';
    if (kind == '.' || kind != before) parts.emplace_back();
    parts.back() += character;
    before = kind;
  }
  return parts;
}

/// Splits words as parts_of() does. A "@" or "#" in front of a name does not belong to the name.
nn::TaggedSentence with_split_words(const nn::TaggedSentence& sentence) {
  nn::TaggedSentence result;
  for (std::size_t i = 0; i < sentence.words.size(); ++i) {
    std::string tag = sentence.tags[i];
    const Strings parts = parts_of(sentence.words[i]);
    for (const std::string& part : parts) {
      const bool is_mark = parts.size() > 1 && &part == &parts[0] && (part == "@" || part == "#");
      const bool is_outside = is_mark && tag.starts_with("B-");
      result.words.push_back(part);
      result.tags.push_back(is_outside ? "O" : tag);
      if (!is_outside && tag.starts_with("B-")) tag[0] = 'I';
    }
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
    for (nn::TaggedSentence& sentence : data.train) sentence = with_split_words(sentence);
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
