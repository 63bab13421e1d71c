// Words, their characters and their pretrained vectors.
#include "nn/pipeline/word_encoder.h"

#include <utility>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "nn/data/text.h"

namespace dynet_like::nn {

namespace {

constexpr std::uint64_t kLeastWords = 2;
constexpr std::size_t kReadEnd = 16;  // so many characters at either end of a word are read

const WordEncoderVocabularies& checked(const WordEncoderVocabularies& all) {
  if (all.words.unknown() && all.characters.unknown()) return all;
  throw UsageError("[WordEncoder] need an unknown word and an unknown character; got none");
}

/// The words, where bytes that are no UTF-8 become replacement characters.
std::vector<std::string> in_utf8(std::span<const std::string> words) {
  std::vector<std::string> result;
  for (const std::string& word : words) {
    std::string& text = result.emplace_back();
    for (const std::string& character : split_line(word, TextUnit::character)) {
      const bool is_wrong =
          character.size() == 1 && static_cast<unsigned char>(character[0]) >= 128;
      text += is_wrong ? "\uFFFD" : character;
    }
  }
  return result;
}

}  // namespace

WordEncoderVocabularies WordEncoderVocabularies::of(std::span<const ConlluSentence> sentences) {
  Vocabulary words({.lower_case = true}), characters;
  for (Vocabulary* some : {&words, &characters}) some->set_unknown("<unknown>");
  for (const ConlluSentence& sentence : sentences) {
    for (const ConlluColumns& word : sentence.words) {
      words.add(word.form);
      characters.add_all(split_line(word.form, TextUnit::character));
    }
  }
  return {words.trimmed(kLeastWords), characters.trimmed(kLeastWords)};
}

WordEncoder::WordEncoder(ParameterCollection& model, WordEncoderVocabularies vocabularies,
                         const WordEncoderOptions& options, std::optional<TextEncoder> context)
    : own_(add_layer(model, options.name, "word_encoder")),
      vocabularies_(checked(vocabularies)),
      context_(std::move(context)),
      words_(own_, vocabularies_.words.size(), options.word, {.name = "words"}),
      spelling_(own_, vocabularies_.characters.size(), options.character,
                {.hidden = options.spelling, .name = "spelling"}),
      input_size_(options.word + spelling_.outputs() + (context_ ? context_->size() : 0)),
      lstm_(own_, input_size_, options.hidden,
            {.layers = options.layers, .dropout = options.dropout, .name = "lstm"}),
      dropout_(options.dropout) {
  if (options.pretrained == 0) return;
  const EmbeddingOptions zeros = {.init = ParameterInitConst(0), .name = "pretrained"};
  pretrained_.emplace(own_, vocabularies_.pretrained.size(), options.pretrained, zeros);
  pretrained_->table().set_updated(false);
  to_word_.emplace(own_, options.pretrained, options.word, LinearOptions{.name = "to_word"});
}

Expression WordEncoder::spelling_of(ComputationGraph& graph, const std::string& word) const {
  auto letters = split_line(word, TextUnit::character);
  if (letters.size() > 2 * kReadEnd) {
    letters.erase(letters.begin() + kReadEnd, letters.end() - kReadEnd);
  }
  return spelling_(graph, vocabularies_.characters.ids(letters));
}

Expression WordEncoder::operator()(ComputationGraph& graph,
                                   std::span<const std::string> words) const {
  if (words.empty()) throw UsageError("[WordEncoder] need at least 1 word; got 0");
  // Drops a whole word, or its characters.
  Expression word = dropout_dim(words_.columns(graph, vocabularies_.words.ids(words)), 0, dropout_);
  if (pretrained_) {
    const Expression known = pretrained_->columns(graph, vocabularies_.pretrained.ids(words));
    word = word + dropout_dim((*to_word_)(known), 0, dropout_);
  }
  std::vector<Expression> spellings;
  for (const std::string& each : words) spellings.push_back(spelling_of(graph, each));
  const Expression spelling = dropout_dim(concatenate_cols(spellings), 0, dropout_);
  Expression x = concatenate({word, spelling});
  if (context_) x = concatenate({x, dropout(context_->words(graph, in_utf8(words)), dropout_)});
  return concatenate({lstm_(x), x});
}

}  // namespace dynet_like::nn
