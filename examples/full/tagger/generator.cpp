// Draws sentences from a small grammar.
#include "examples/full/tagger/generator.h"

#include <string>
#include <string_view>
#include <utility>

namespace dynet_like::examples {

namespace {

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

std::vector<nn::TaggedSentence> generate_sentences(std::size_t count, Random& random) {
  Generator generator(random);
  std::vector<nn::TaggedSentence> sentences;
  while (sentences.size() < count) sentences.push_back(generator.sentence());
  return sentences;
}

}  // namespace dynet_like::examples
