// Reads sentences, and writes words with tags.
#include "examples/full/support/tagging.h"

#include <iostream>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "examples/full/support/lines.h"
#include "nn/data/text.h"

namespace dynet_like::examples {

namespace {

std::vector<Strings> words_of(const std::vector<nn::TaggedSentence>& sentences) {
  std::vector<Strings> words;
  for (const nn::TaggedSentence& sentence : sentences) words.push_back(sentence.words);
  return words;
}

// The tags of all sentences; checks that every sentence and every word has one.
std::vector<Strings> tags_for(const std::vector<Strings>& sentences, const TagWords& tags_of) {
  std::vector<Strings> tags = tags_of(sentences);
  const auto check = [](std::size_t needed, std::size_t got, const char* what) {
    if (needed == got) return;
    throw UsageError("[tags] need tags of " + detail::counted(needed, what) + "; got " +
                     std::to_string(got));
  };
  check(sentences.size(), tags.size(), "sentence");
  for (std::size_t i = 0; i < tags.size(); ++i) check(sentences[i].size(), tags[i].size(), "word");
  return tags;
}

}  // namespace

std::vector<std::uint32_t> sizes_of(const std::vector<Strings>& sentences) {
  std::vector<std::uint32_t> sizes;
  for (const Strings& words : sentences) sizes.push_back(static_cast<std::uint32_t>(words.size()));
  return sizes;
}

nn::Accuracy tag_accuracy(const std::vector<nn::TaggedSentence>& gold, const TagWords& tags_of) {
  const std::vector<Strings> tags = tags_for(words_of(gold), tags_of);
  nn::Accuracy accuracy;
  for (std::size_t i = 0; i < gold.size(); ++i) {
    for (std::size_t k = 0; k < tags[i].size(); ++k) accuracy.add(gold[i].tags[k] == tags[i][k]);
  }
  return accuracy;
}

nn::SpanScores span_scores(const std::vector<nn::TaggedSentence>& gold, const TagWords& tags_of) {
  const std::vector<Strings> tags = tags_for(words_of(gold), tags_of);
  nn::SpanScores scores;
  for (std::size_t i = 0; i < gold.size(); ++i) scores.add(gold[i].tags, tags[i]);
  return scores;
}

int tag_lines(const TagWords& tags_of) {
  constexpr std::size_t kTogether = 64;
  answer_lines(std::cin, std::cout, kTogether, [&](const auto& lines, std::size_t) {
    std::vector<Strings> sentences;
    for (const std::string& line : lines) {
      const auto words = nn::split_line(line, nn::TextUnit::word);
      if (!words.empty()) sentences.emplace_back(words.begin(), words.end());
    }
    const std::vector<Strings> tags = tags_for(sentences, tags_of);
    std::string text;
    for (std::size_t s = 0; s < sentences.size(); ++s) {
      for (std::size_t i = 0; i < sentences[s].size(); ++i) {
        text += sentences[s][i] + '\t' + tags[s][i] + '\n';
      }
      text += '\n';
    }
    return text;
  });
  return 0;
}

}  // namespace dynet_like::examples
