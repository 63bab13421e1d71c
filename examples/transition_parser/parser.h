// The model of a transition-based parser, as plain code for one sentence.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "examples/transition_parser/arc_hybrid.h"
#include "nn/data/conllu.h"
#include "nn/nn.h"
#include "nn/train.h"

namespace dynet_like::examples {

struct ParserVocabularies {
  explicit ParserVocabularies(const std::vector<nn::ConlluSentence>& sentences) {
    words.set_unknown("<unknown>");
    tags.set_unknown("<unknown>");
    for (const nn::ConlluSentence& sentence : sentences) {
      words.add("<root>");
      tags.add("<root>");
      for (const nn::ConlluColumns& word : sentence.words) {
        words.add(word.form);
        tags.add(word.upos);
        labels.add(word.deprel);
      }
    }
  }
  explicit ParserVocabularies(const nn::SavedModel& saved)
      : words(saved.vocabulary("words")),
        tags(saved.vocabulary("tags")),
        labels(saved.vocabulary("labels")) {}

  nn::Vocabulary words, tags, labels;
};

/// Kiperwasser and Goldberg (2016), but that labels are chosen when the tree is there, from words
/// and their heads (Dozat and Manning 2017). `loss` and `parse` ask for values in the middle: they
/// are for for_each_sample.
class TransitionParser {
 public:
  TransitionParser(const ParserVocabularies& vocabularies, unsigned hidden)
      : vocabularies_(vocabularies),
        hidden_(hidden),
        words_(model, vocabularies.words.size(), hidden / 2, "words"),
        tags_(model, vocabularies.tags.size(), hidden / 4, "tags"),
        encoder_(model, hidden / 2 + hidden / 4, hidden, 2, kDropout),
        places_(model, 2 * hidden, kPlaces * hidden, true, "places"),
        transitions_(model, hidden, kTransitions.size(), true, "transitions"),
        label_heads_(model, 2 * hidden, 2 * hidden / 5, true, "label_heads"),
        label_dependants_(model, 2 * hidden, 2 * hidden / 5, true, "label_dependants"),
        labels_(model, 2 * hidden / 5, vocabularies.labels.size()) {}

  /// Of a sentence with a projective tree. Follows the model, and learns wherever the best right
  /// transition is not better than all wrong ones by a margin. `random` is for words that are left
  /// out, and for wrong steps.
  Expression loss(ComputationGraph& graph, const nn::ConlluSentence& sentence, Random& random,
                  bool dropout) const {
    const Encoded x = encode(graph, sentence, without_some(word_rows(sentence), random), dropout);
    const std::vector<unsigned> heads = sentence.heads();
    std::vector<Expression> losses = {label_loss(x, sentence, heads)};
    ArcHybrid state(heads.size());
    while (!state.is_done()) {
      const Expression scores = scores_of(x, state);
      const Tensor values = scores.value();  // waits for the other sentences
      const auto best_that = [&](bool is_right) {
        return best(values, [&](Transition transition) {
          return state.can(transition) && (state.cost(transition, heads) == 0) == is_right;
        });
      };
      const Choice right = best_that(true), wrong = best_that(false);
      const bool is_close = wrong.score + kMargin > right.score;
      if (is_close) losses.push_back(score(scores, wrong) - score(scores, right) + kMargin);
      const bool goes_wrong =
          wrong.score > right.score || (is_close && random.uniform() < kExploration);
      state.apply(goes_wrong ? wrong.transition : right.transition);
    }
    return sum(losses);
  }

  /// Writes the heads and labels that it finds into the sentence.
  void parse(ComputationGraph& graph, nn::ConlluSentence& sentence) const {
    const Encoded x = encode(graph, sentence, word_rows(sentence), false);
    ArcHybrid state(sentence.words.size());
    while (!state.is_done()) {
      const Tensor values = scores_of(x, state).value();  // waits for the other sentences
      state.apply(best(values, [&](Transition t) { return state.can(t); }).transition);
    }
    const std::vector<unsigned>& heads = state.heads();
    const std::vector<unsigned> labels = argmax_of_columns(label_scores(x, heads).value());
    for (std::size_t i = 0; i < heads.size(); ++i) {
      sentence.words[i].head = static_cast<std::int32_t>(heads[i]);
      sentence.words[i].deprel = vocabularies_.labels.word(labels[i]);
    }
  }

  ParameterCollection model{1};

 private:
  static constexpr float kDropout = 0.33f, kMargin = 1;
  // A word that comes n times is left out with probability kRare / (kRare + n).
  static constexpr double kRare = 0.25;
  // How often a wrong transition is made that is within the margin, but not the best.
  static constexpr double kExploration = 0.1;
  // The words that a decision looks at.
  static constexpr unsigned kPlaces = 4;

  // A column per word, the root first, and of dependants without it.
  struct Encoded {
    Expression places;  // kPlaces columns per word: what it says in each of them
    Expression label_heads, label_dependants;
  };
  struct Choice {
    Transition transition = Transition::shift;
    float score = -std::numeric_limits<float>::infinity();
  };

  std::vector<unsigned> word_rows(const nn::ConlluSentence& sentence) const {
    std::vector<unsigned> rows = {vocabularies_.words.id("<root>")};
    for (const nn::ConlluColumns& word : sentence.words)
      rows.push_back(vocabularies_.words.id(word.form));
    return rows;
  }
  std::vector<unsigned> without_some(std::vector<unsigned> rows, Random& random) const {
    for (unsigned& row : rows) {
      const auto count = static_cast<double>(vocabularies_.words.count(row));
      if (random.uniform() < kRare / (kRare + count)) row = *vocabularies_.words.unknown();
    }
    return rows;
  }

  Encoded encode(ComputationGraph& graph, const nn::ConlluSentence& sentence,
                 const std::vector<unsigned>& word_rows, bool dropout) const {
    std::vector<unsigned> tag_rows = {vocabularies_.tags.id("<root>")};
    for (const nn::ConlluColumns& word : sentence.words)
      tag_rows.push_back(vocabularies_.tags.id(word.upos));
    const Expression x = drop_(
        concatenate({words_.columns(graph, word_rows), tags_.columns(graph, tag_rows)}), dropout);
    const auto columns = static_cast<unsigned>(word_rows.size());
    std::vector<Expression> xs;
    for (unsigned i = 0; i < columns; ++i) xs.push_back(pick(x, i, 1));
    const Expression all = drop_(concatenate_cols(encoder_(xs, dropout)), dropout);
    const Expression own = pick_range(all, 1, columns, 1);
    return {reshape(places_(all), Dim({hidden_, kPlaces * columns})),
            drop_(rectify(label_heads_(all)), dropout),
            drop_(rectify(label_dependants_(own)), dropout)};
  }

  // A score per transition, from a network whose first layer is a sum over places: what a word adds
  // to it is computed once per sentence. Where there is no word, the root stands.
  Expression scores_of(const Encoded& x, const ArcHybrid& state) const {
    const std::array<std::uint32_t, kPlaces> words = {state.buffer(), state.stack(0),
                                                      state.stack(1), state.stack(2)};
    std::vector<Expression> parts;
    for (unsigned i = 0; i < kPlaces; ++i)
      parts.push_back(pick(x.places, kPlaces * words[i] + i, 1));
    return transitions_(tanh(sum(parts)));
  }

  // The transition with the highest score of those that are accepted.
  template <class Accept>
  static Choice best(const Tensor& scores, const Accept& accept) {
    Choice best;
    for (const Transition transition : kTransitions) {
      const float score = scores.v[static_cast<unsigned>(transition)];
      if (score > best.score && accept(transition)) best = {transition, score};
    }
    return best;
  }
  static Expression score(const Expression& scores, const Choice& choice) {
    return pick(scores, static_cast<unsigned>(choice.transition));
  }

  // A column per word that has one of these heads.
  Expression label_scores(const Encoded& x, const std::vector<unsigned>& heads) const {
    return labels_(select_cols(x.label_heads, heads), x.label_dependants);
  }
  Expression label_loss(const Encoded& x, const nn::ConlluSentence& sentence,
                        const std::vector<unsigned>& heads) const {
    std::vector<unsigned> gold;
    for (const nn::ConlluColumns& word : sentence.words)
      gold.push_back(vocabularies_.labels.id(word.deprel));
    // Words are minibatch elements here, each with a loss.
    const Dim per_word({vocabularies_.labels.size()}, static_cast<unsigned>(gold.size()));
    return sum_batches(pickneglogsoftmax(reshape(label_scores(x, heads), per_word), gold));
  }

  const ParserVocabularies& vocabularies_;
  unsigned hidden_;
  nn::Embedding words_, tags_;
  nn::BidirectionalLSTM encoder_;
  nn::Linear places_, transitions_, label_heads_, label_dependants_;
  nn::BiaffineLabels labels_;
  nn::Dropout drop_{kDropout};
};

}  // namespace dynet_like::examples
