// Reads files, or generates sentences.
#include "examples/full/tagger/sentences.h"

#include <string_view>
#include <utility>

#include "dynet_like/core/random.h"
#include "dynet_like/core/text.h"
#include "examples/full/support/program.h"
#include "examples/full/support/tagging.h"
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

/// An artificial language. Nouns, verbs and the like are made of random syllables, so most words
/// occur only once. Some can be recognised by their endings. But for a word without ending, only
/// its sentence tells whether it is a noun or a verb.
class Generator {
 public:
  explicit Generator(Random& random) : random_(random) {}

  nn::TaggedSentence sentence() {
    sentence_ = {};
    noun_phrase();
    if (chance(0.3)) add(stem() + "ly", "ADV");
    add(chance(0.5) ? stem() : stem() + "ed", "VERB");
    if (chance(0.7)) noun_phrase();
    while (chance(0.4)) {
      add(one_of({"in", "of", "to", "with", "by"}), "ADP");
      noun_phrase();
    }
    add(one_of({".", "!", "?"}), "PUNCT");
    return std::move(sentence_);
  }

 private:
  void noun_phrase() {
    switch (random_.below(5)) {
      case 0:
        return add(one_of({"she", "he", "it", "they", "we"}), "PRON");
      case 1: {
        std::string name = stem();
        name[0] = static_cast<char>(name[0] - 'a' + 'A');
        return add(std::move(name), "PROPN");
      }
      case 2:
        add(std::to_string(random_.below(1000)), "NUM");
        break;
      default:
        add(one_of({"the", "a", "this", "every"}), "DET");
    }
    while (chance(0.3)) add(stem() + "ous", "ADJ");
    add(stem(), "NOUN");
  }

  std::string stem() {
    std::string result;
    for (unsigned left = 2 + random_.below(2); left > 0; --left) {
      result += "bdfgklmnprstvz"[random_.below(14)];
      result += "aeiou"[random_.below(5)];
    }
    return result;
  }

  std::string one_of(std::initializer_list<std::string_view> words) {
    return std::string(words.begin()[random_.below(static_cast<std::uint32_t>(words.size()))]);
  }
  bool chance(double p) { return random_.uniform() < p; }

  void add(std::string word, const char* tag) {
    sentence_.words.push_back(std::move(word));
    sentence_.tags.emplace_back(tag);
  }

  Random& random_;
  nn::TaggedSentence sentence_;
};

}  // namespace

TaggedData load_sentences(const Options& options) {
  options.need_none("train", {"train-sentences", "test-sentences"});
  const std::string train = options.text("train");
  const bool is_conllu = train.ends_with(".conllu");
  const auto read = [&](const std::string& file) {
    return is_conllu ? nn::read_conllu_tags(file) : nn::read_columns(file);
  };
  if (auto files = read_splits<nn::TaggedSentence>(options, read)) {
    TaggedData data{std::move(*files), is_conllu ? "upos_accuracy" : "label_accuracy"};
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
  Random random(options.seed());
  const auto generate = [&](const char* count) {
    std::vector<nn::TaggedSentence> sentences(options.whole(count));
    for (nn::TaggedSentence& sentence : sentences) sentence = Generator(random).sentence();
    return sentences;
  };
  return {{generate("train-sentences"), generate("test-sentences"), generate("test-sentences")}};
}

}  // namespace dynet_like::examples
