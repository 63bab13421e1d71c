// The model of tokens and sentences, and its windows.
#include "nn/pipeline/segmenter.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/largest.h"
#include "dynet_like/graph/computation_graph.h"
#include "nn/data/text.h"

namespace dynet_like::nn {

namespace {

constexpr unsigned kLabels = 5;
constexpr std::uint64_t kLeastCharacters = 3;

/// What ends with each token.
std::vector<CharacterLabel> labels_of(std::span<const ConlluSentence> sentences) {
  using enum CharacterLabel;
  std::vector<CharacterLabel> labels;
  for (const ConlluSentence& each : sentences) {
    const std::vector<TextToken> tokens = tokens_of(each);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool is_last = i + 1 == tokens.size();
      labels.push_back(tokens[i].is_multiword ? (is_last ? multiword_and_sentence : multiword)
                                              : (is_last ? sentence : token));
    }
  }
  return labels;
}

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
      spaces_(options.spaces),
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

bool Segmenter::has_spaces_in_tokens(std::span<const ConlluSentence> sentences) {
  const auto is_space = [](const std::string& text) { return space_bytes(text) > 0; };
  return std::ranges::any_of(sentences, [&](const ConlluSentence& sentence) {
    return std::ranges::any_of(tokens_of(sentence), [&](const TextToken& token) {
      return std::ranges::any_of(split_line(token.columns.form, TextUnit::character), is_space);
    });
  });
}

std::vector<TextWindow> Segmenter::windows_of(std::span<const ConlluSentence> sentences) const {
  std::vector<std::size_t> ends;
  std::istringstream text(text_of(sentences, &ends));
  const std::vector<CharacterLabel> labels = labels_of(sentences);
  TextWindows windows;
  RawUnits units(text);
  std::size_t place = 0, token = 0;
  while (const auto unit = units.next()) {
    place += unit->bytes.size();
    if (unit->is_border) windows.end_paragraph();
    CharacterLabel label = CharacterLabel::inside;
    for (; token < ends.size() && ends[token] <= place; ++token) label = labels[token];
    if (!unit->is_border) windows.add(id(*unit), label);
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

}  // namespace dynet_like::nn
