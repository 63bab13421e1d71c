// Three vocabularies, and their names in a model's file.
#include "examples/tagger/encoding.h"

namespace dynet_like::examples {

namespace {

constexpr char kUnknown[] = "<unknown>";
constexpr std::size_t kWordEnd = 16;  // so many characters are read at either end of a word

/// In lower case; the characters tell the case. Letters outside ASCII stay as they are.
std::string lower_case(std::string word) {
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return word;
}

}  // namespace

std::vector<std::string_view> utf8_characters(std::string_view text) {
  std::vector<std::string_view> characters;
  for (std::size_t begin = 0, end = 1; begin < text.size(); begin = end++) {
    // At most three bytes continue a character.
    while (end < text.size() && end - begin < 4 && (text[end] & 0xC0) == 0x80) ++end;
    characters.push_back(text.substr(begin, end - begin));
  }
  return characters;
}

Encoding::Encoding(const std::vector<nn::TaggedSentence>& sentences, std::uint64_t min_count) {
  nn::Vocabulary words;
  words.set_unknown(kUnknown);
  characters_.set_unknown(kUnknown);
  for (const nn::TaggedSentence& sentence : sentences) {
    for (const std::string& word : sentence.words) {
      words.add(lower_case(word));
      for (const std::string_view character : utf8_characters(word)) characters_.add(character);
    }
    for (const std::string& label : sentence.tags) labels_.add(label);
  }
  words_ = words.trimmed(min_count);
  for (nn::Vocabulary* vocabulary : {&words_, &characters_, &labels_}) vocabulary->freeze();
}

Encoding::Encoding(const SavedModel& model)
    : words_(model.vocabulary("words")),
      characters_(model.vocabulary("characters")),
      labels_(model.vocabulary("labels")) {}

Metadata Encoding::vocabularies() const {
  return {{"words", words_.to_text()},
          {"characters", characters_.to_text()},
          {"labels", labels_.to_text()}};
}

EncodedSentence Encoding::encode(std::span<const std::string> words) const {
  EncodedSentence result;
  for (const std::string& word : words) {
    result.words.push_back(words_.id(lower_case(word)));
    std::vector<std::uint32_t>& numbers = result.characters.emplace_back();
    const std::vector<std::string_view> characters = utf8_characters(word);
    for (std::size_t i = 0; i < characters.size(); ++i) {
      if (i >= kWordEnd && i + kWordEnd < characters.size()) continue;
      numbers.push_back(characters_.id(characters[i]));
    }
  }
  return result;
}

std::vector<unsigned> Encoding::encode_labels(std::span<const std::string> labels) const {
  std::vector<unsigned> result;
  for (const std::string& label : labels) result.push_back(labels_.id(label));
  return result;
}

std::vector<float> Encoding::label_bias(float outside_bias) const {
  if (outside_bias == 0 || !labels_.contains("O")) return {};
  std::vector<float> bias(labels_.size(), 0.0f);
  bias[labels_.id("O")] = -outside_bias;
  return bias;
}

}  // namespace dynet_like::examples
