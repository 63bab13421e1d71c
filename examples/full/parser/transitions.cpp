// A transition-based parser. It reads a sentence from left to right, and decides step by step which
// head each word gets.
//
// Kiperwasser and Goldberg (2016): arc-hybrid transitions, scored from the outputs of bidirectional
// LSTMs for three words of the stack and one of the buffer. In training the parser follows its own
// decisions, wrong ones too, and a dynamic oracle tells which ones are best there (Goldberg and
// Nivre 2013). So the next step depends on the model's current scores. Still every sentence is
// plain code: `nn::train` and `nn::predict` run the steps of all sentences of a minibatch together.
// Labels do not change steps, so all of them are chosen when the tree is complete.
#include "examples/full/parser/model.h"

namespace dynet_like::examples {

namespace {

constexpr float kMargin = 1;          // by which a correct transition should beat wrong ones
constexpr double kExploration = 0.1;  // probability to take a wrong one within the margin
constexpr nn::TransitionSystem kSystem{nn::TransitionSystem::arc_hybrid};

struct TransitionModel final : ParserModel {
  const Inputs& in;
  unsigned hidden = in.hidden, small = hidden / 2;
  nn::BidirectionalLSTM encoder{
      in.parameters, in.outputs(), hidden, {.layers = 2, .dropout = in.rate}};
  nn::Linear places{in.parameters, 2 * hidden, 4 * small, {.name = "places"}};
  nn::Linear transitions{in.parameters, small, kSystem.size(), {.name = "transitions"}};
  nn::Linear heads{in.parameters, 2 * hidden, small, {.name = "label_heads"}};
  nn::Linear dependants{
      in.parameters, 2 * hidden, small, {.bias = false, .name = "label_dependants"}};
  nn::Linear labels{in.parameters, small, in.v.labels.size(), {.name = "labels"}};

  explicit TransitionModel(const Inputs& inputs) : in(inputs) {}

  /// Columns for the words of a sentence. Except for dependants, the root comes first.
  struct Encoded {
    Expression places;             ///< four columns per word, one for each place of scores()
    Expression heads, dependants;  ///< for labels
  };
  Encoded encode(ComputationGraph& graph, const Sentence& sentence,
                 const std::vector<unsigned>& word_ids) const {
    const Expression tag = in.tags.columns(graph, in.v.tag_ids(sentence));
    const Expression x = dropout(in(in.words.columns(graph, word_ids), tag, sentence), in.rate);
    const Expression all = in.encoded(encoder, x);
    const unsigned n = word_ids.size();
    return {reshape(places(all), Dim({small, 4 * n})), heads(all),
            dependants(pick_range(all, 1, n, 1))};
  }
  /// A score per transition, from the words in four places. The root stands for a missing word.
  Expression scores(const Encoded& x, const nn::ParserState& state) const {
    std::vector<Expression> parts;
    for (const unsigned word : {state.buffer(), state.stack(0), state.stack(1), state.stack(2)})
      parts.push_back(pick(x.places, 4 * word + parts.size(), 1));
    return transitions(tanh(sum(parts)));
  }
  /// For each word with one of these heads, a column of scores.
  Expression label_scores(const Encoded& x, const std::vector<unsigned>& of_heads) const {
    return labels(tanh(select_cols(x.heads, of_heads) + x.dependants));
  }

  /// Follows the model's decisions. There is a loss wherever the best correct transition does not
  /// beat all wrong ones by a margin.
  Expression loss(ComputationGraph& graph, const Sentence& sentence) const override {
    Random random = graph.random();
    const Encoded x = encode(graph, sentence, in.v.word_ids(sentence, random));
    const std::vector<unsigned> tree = sentence.heads(), gold = in.v.label_ids(sentence);
    std::vector<Expression> losses = {sum_batches(cross_entropy(label_scores(x, tree), gold))};
    for (nn::ParserState state(kSystem, tree.size()); state.apply_forced(), !state.is_done();) {
      const auto [right, wrong] = state.judge(tree);
      const Expression score = scores(x, state);
      const Tensor values = score.value();  // waits for the other sentences
      unsigned next = argmax(values, right);
      if (!wrong.empty()) {
        const unsigned rival = argmax(values, wrong);
        const float lead = values.v[next] - values.v[rival];
        if (lead < kMargin) losses.push_back(pick(score, rival) - pick(score, next) + kMargin);
        if (lead < 0 || (lead < kMargin && random.uniform() < kExploration)) next = rival;
      }
      state.apply(next);
    }
    return sum(losses);
  }

  HeadsAndLabels tree(ComputationGraph& graph, const Sentence& sentence) const override {
    const Encoded x = encode(graph, sentence, in.v.word_ids(sentence));
    nn::ParserState state(kSystem, sentence.words.size());
    while (state.apply_forced(), !state.is_done()) {
      state.apply(argmax(scores(x, state).value(), state.allowed()));
    }
    return {state.heads(), argmax_of_columns(label_scores(x, state.heads()).value())};
  }
};

}  // namespace

std::unique_ptr<ParserModel> new_transition_model(const Inputs& inputs) {
  return std::make_unique<TransitionModel>(inputs);
}

}  // namespace dynet_like::examples
