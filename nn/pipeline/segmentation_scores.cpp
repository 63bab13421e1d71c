// Compares spans of characters, and the words of multi-word tokens by their forms.
#include "nn/pipeline/segmentation_scores.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "nn/data/text.h"
#include "nn/data/word_normalisation.h"
#include "nn/pipeline/raw_text.h"

namespace dynet_like::nn {

namespace {

using CharacterSpan = std::pair<std::size_t, std::size_t>;  // begin and end

struct SpannedWord {
  CharacterSpan span;  ///< of its token
  bool is_multiword = false;
  std::string form;  ///< in small letters
};

/// A text without its spaces, and what it is cut into.
struct Analysis {
  std::string characters;
  std::vector<CharacterSpan> tokens, sentences;
  std::vector<SpannedWord> words;
};

std::string without_spaces(const std::string& form) {
  std::string text;
  for (const std::string& character : split_line(form, TextUnit::character)) {
    if (space_bytes(character) == 0) text += character;
  }
  return text;
}

Analysis analysis_of(std::span<const ConlluSentence> sentences) {
  const auto small = [](const std::string& form) {
    return normalised(without_spaces(form), {.lower_case = true});
  };
  Analysis all;
  for (const ConlluSentence& sentence : sentences) {
    const std::size_t first = all.characters.size();
    auto word = sentence.words.begin();
    auto multiword = sentence.multiwords.begin();
    for (const auto& [token, is_multiword] : tokens_of(sentence)) {
      const std::size_t begin = all.characters.size();
      all.characters += without_spaces(token.form);
      const CharacterSpan span = {begin, all.characters.size()};
      all.tokens.push_back(span);
      std::size_t count = 1;
      if (is_multiword) {
        count = multiword->last - multiword->first + 1;
        ++multiword;
      }
      for (; count > 0 && word != sentence.words.end(); --count) {
        all.words.push_back({span, is_multiword, small((word++)->form)});
      }
    }
    all.sentences.push_back({first, all.characters.size()});
  }
  return all;
}

PrecisionRecall compare_spans(const std::vector<CharacterSpan>& gold,
                              const std::vector<CharacterSpan>& found) {
  PrecisionRecall scores = {.found = found.size(), .gold = gold.size()};
  auto g = gold.begin(), f = found.begin();
  while (g != gold.end() && f != found.end()) {
    if (*g == *f) ++scores.right;
    const std::size_t of_gold = g->first, of_found = f->first;
    if (of_gold <= of_found) ++g;
    if (of_found <= of_gold) ++f;
  }
  return scores;
}

using SpannedWords = std::span<const SpannedWord>;

std::size_t longest_common_subsequence(SpannedWords a, SpannedWords b) {
  std::vector<std::size_t> sizes(b.size() + 1, 0);  // of the beginnings of b with that of a
  for (const SpannedWord& word : a) {
    std::size_t diagonal = 0;
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::size_t longer = word.form == b[k].form ? diagonal + 1 : 0;
      diagonal = std::exchange(sizes[k + 1], std::max({sizes[k], sizes[k + 1], longer}));
    }
  }
  return sizes.back();
}

/// Takes a part of both in which one has multi-word tokens, and returns how many words are right.
std::size_t right_in_multiwords(SpannedWords& gold, SpannedWords& found) {
  const SpannedWord &g = gold.front(), &f = found.front();
  std::size_t end = g.is_multiword ? g.span.second : f.span.second;
  if (!f.is_multiword && f.span.first < g.span.first) found = found.subspan(1);
  if (!g.is_multiword && g.span.first < f.span.first) gold = gold.subspan(1);
  const auto goes_on = [&](SpannedWords words, std::size_t next) {
    if (next == words.size()) return false;
    const SpannedWord& word = words[next];
    return word.is_multiword ? word.span.first < end : word.span.second <= end;
  };
  std::size_t i = 0, k = 0;
  do {
    const bool takes_gold =
        i < gold.size() && (k == found.size() || gold[i].span.first <= found[k].span.first);
    const SpannedWord& word = takes_gold ? gold[i++] : found[k++];
    if (word.is_multiword) end = std::max(end, word.span.second);
  } while (goes_on(gold, i) || goes_on(found, k));
  const std::size_t right = longest_common_subsequence(gold.first(i), found.first(k));
  gold = gold.subspan(i);
  found = found.subspan(k);
  return right;
}

PrecisionRecall compare_words(SpannedWords gold, SpannedWords found) {
  PrecisionRecall scores = {.found = found.size(), .gold = gold.size()};
  while (!gold.empty() && !found.empty()) {
    const SpannedWord &g = gold.front(), &f = found.front();
    if (g.is_multiword || f.is_multiword) {
      scores.right += right_in_multiwords(gold, found);
      continue;
    }
    const bool is_right = g.span == f.span, is_gold_first = g.span.first <= f.span.first;
    scores.right += is_right ? 1 : 0;
    if (is_right || is_gold_first) gold = gold.subspan(1);
    if (is_right || !is_gold_first) found = found.subspan(1);
  }
  return scores;
}

}  // namespace

SegmentationScores segmentation_scores(std::span<const ConlluSentence> gold,
                                       std::span<const ConlluSentence> found) {
  const Analysis a = analysis_of(gold), b = analysis_of(found);
  if (a.characters != b.characters) {
    const auto [of_a, of_b] = std::ranges::mismatch(a.characters, b.characters);
    const auto rest = [](const std::string& text, auto place) {
      return detail::quoted_text(
          std::string_view(text).substr(static_cast<std::size_t>(place - text.begin()), 20));
    };
    throw UsageError("[segmentation_scores] need analyses of one text; got " +
                     rest(a.characters, of_a) + " beside " + rest(b.characters, of_b));
  }
  return {.tokens = compare_spans(a.tokens, b.tokens),
          .words = compare_words(a.words, b.words),
          .sentences = compare_spans(a.sentences, b.sentences)};
}

}  // namespace dynet_like::nn
