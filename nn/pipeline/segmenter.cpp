// The model of tokens and sentences, and its windows.
#include "nn/pipeline/segmenter.h"

#include <algorithm>
#include <utility>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/largest.h"
#include "dynet_like/graph/computation_graph.h"
#include "nn/data/text.h"
#include "nn/train/metrics.h"

namespace dynet_like::nn {

namespace {

constexpr unsigned kLabels = 5;
constexpr std::uint64_t kLeastCharacters = 3;

}  // namespace

void TextWindows::add(std::uint32_t character, CharacterLabel label) {
  characters_.push_back(character);
  labels_.push_back(label);
  const std::size_t context = begin_ == 0 ? 0 : kContext;
  if (characters_.size() == context + kSize + kContext) cut();
}

/// Completes the next window from what is there, and forgets what no later one needs.
void TextWindows::cut() {
  const std::size_t context = begin_ == 0 ? 0 : kContext;
  const std::size_t end = std::min(context + kSize, characters_.size());
  complete_.push_back(
      {characters_, labels_, static_cast<std::uint32_t>(context), static_cast<std::uint32_t>(end)});
  const auto unused = static_cast<std::ptrdiff_t>(end - std::min(end, kContext));
  characters_.erase(characters_.begin(), characters_.begin() + unused);
  labels_.erase(labels_.begin(), labels_.begin() + unused);
  begin_ += end - context;
}

void TextWindows::end_paragraph() {
  while (characters_.size() > (begin_ == 0 ? 0 : kContext)) cut();
  characters_.clear();
  labels_.clear();
  begin_ = 0;
}

Segmenter::Segmenter(ParameterCollection& model, Vocabulary characters,
                     const SegmenterOptions& options)
    : own_(add_layer(model, options.name, "segmenter")),
      characters_(std::move(characters)),
      embedding_(own_, characters_.size(), options.embedding, {.name = "characters"}),
      lstm_(own_, options.embedding, options.hidden,
            {.layers = options.layers, .dropout = options.dropout, .name = "lstm"}),
      output_(own_, 2 * options.hidden, kLabels, {.name = "output"}),
      dropout_(options.dropout) {
  if (!characters_.unknown()) throw UsageError("[Segmenter] need an unknown character; got none");
}

Vocabulary Segmenter::characters_of(std::span<const ConlluSentence> sentences) {
  Vocabulary all;
  all.set_unknown("<unknown>");
  for (std::uint64_t i = 0; i < kLeastCharacters; ++i) all.add(" ");
  for (const ConlluSentence& sentence : sentences) {
    for (const TextToken& token : tokens_of(sentence)) {
      all.add_all(split_line(token.columns.form, TextUnit::character));
    }
  }
  return all.trimmed(kLeastCharacters);
}

std::vector<TextWindow> Segmenter::windows_of(std::span<const ConlluSentence> sentences) const {
  using enum CharacterLabel;
  TextWindows windows;
  bool has_space = false;
  for (const ConlluSentence& each : sentences) {
    const bool begins = begins_paragraph(each);
    if (begins) windows.end_paragraph();
    if (begins) has_space = false;
    const std::vector<TextToken> tokens = tokens_of(each);
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      if (has_space) windows.add(characters_.id(" "));
      const auto letters = split_line(tokens[t].columns.form, TextUnit::character);
      for (std::size_t i = 0; i < letters.size(); ++i) {
        const auto end = t + 1 < tokens.size()    ? (tokens[t].is_multiword ? multiword : token)
                         : tokens[t].is_multiword ? multiword_and_sentence
                                                  : sentence;
        const bool is_space = space_bytes(letters[i]) > 0;
        windows.add(characters_.id(is_space ? " " : letters[i]),
                    i + 1 < letters.size() ? inside : end);
      }
      has_space = spaces_after(tokens[t].columns) != "";
    }
  }
  windows.end_paragraph();
  return windows.take();
}

Expression Segmenter::scores(ComputationGraph& graph, const TextWindow& window) const {
  const Expression x = dropout(embedding_.columns(graph, window.characters), dropout_);
  return output_(dropout(pick_range(lstm_(x), window.begin, window.end, 1), dropout_));
}

Expression Segmenter::loss(ComputationGraph& graph, const TextWindow& window) const {
  std::vector<unsigned> gold;
  for (std::uint32_t i = window.begin; i < window.end; ++i) {
    gold.push_back(static_cast<unsigned>(window.labels.at(i)));
  }
  const unsigned count = window.end - window.begin;
  return sum_batches(cross_entropy(reshape(scores(graph, window), Dim({kLabels}, count)), gold));
}

std::vector<CharacterLabel> best_labels(const Tensor& scores) {
  std::vector<CharacterLabel> labels;
  for (const unsigned label : argmax_of_columns(scores)) {
    labels.push_back(static_cast<CharacterLabel>(label));
  }
  return labels;
}

double segmentation_score(std::span<const TextWindow> gold,
                          std::span<const std::vector<CharacterLabel>> found) {
  PrecisionRecall tokens, sentences;
  const auto count = [](PrecisionRecall& of, bool is_gold, bool is_found) {
    of.gold += is_gold ? 1 : 0;
    of.found += is_found ? 1 : 0;
    of.right += is_gold && is_found ? 1 : 0;
  };
  for (std::size_t w = 0; w < gold.size(); ++w) {
    for (std::size_t i = 0; i < found[w].size(); ++i) {
      const CharacterLabel a = gold[w].labels.at(gold[w].begin + i), b = found[w][i];
      count(tokens, a != CharacterLabel::inside, b != CharacterLabel::inside);
      count(sentences, a >= CharacterLabel::sentence, b >= CharacterLabel::sentence);
    }
  }
  return (tokens.f1() + sentences.f1()) / 2;
}

}  // namespace dynet_like::nn
