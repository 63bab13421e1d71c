// Reads sentences, and writes words with tags.
#include "examples/full/support/tagging.h"

#include <iostream>

#include "examples/full/support/lines.h"
#include "nn/data/text.h"

namespace dynet_like::examples {

namespace {

std::vector<Strings> words_of(const std::vector<nn::TaggedSentence>& sentences) {
  std::vector<Strings> words;
  for (const nn::TaggedSentence& sentence : sentences) words.push_back(sentence.words);
  return words;
}

}  // namespace

nn::Accuracy tag_accuracy(const std::vector<nn::TaggedSentence>& gold, const TagWords& tags_of) {
  const std::vector<Strings> tags = tags_of(words_of(gold));
  nn::Accuracy accuracy;
  for (std::size_t i = 0; i < gold.size(); ++i) {
    for (std::size_t k = 0; k < gold[i].tags.size(); ++k)
      accuracy.add(gold[i].tags[k] == tags.at(i).at(k));
  }
  return accuracy;
}

nn::SpanScores span_scores(const std::vector<nn::TaggedSentence>& gold, const TagWords& tags_of) {
  const std::vector<Strings> tags = tags_of(words_of(gold));
  nn::SpanScores scores;
  for (std::size_t i = 0; i < gold.size(); ++i) scores.add(gold[i].tags, tags.at(i));
  return scores;
}

int tag_lines(const TagWords& tags_of) {
  constexpr std::size_t kTogether = 64;
  answer_lines(std::cin, std::cout, kTogether, [&](const auto& lines, std::size_t) {
    std::vector<Strings> sentences;
    for (const std::string& line : lines) {
      if (!nn::is_blank(line)) sentences.push_back(nn::split_line(line));
    }
    const std::vector<Strings> tags = tags_of(sentences);
    std::string text;
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      for (std::size_t k = 0; k < sentences[i].size(); ++k)
        text += sentences[i][k] + '\t' + tags[i][k] + '\n';
      text += '\n';
    }
    return text;
  });
  return 0;
}

}  // namespace dynet_like::examples
