// A graph-based parser: every word chooses its head and the label of the arc to it. Dozat and
// Manning (2017), without characters: LSTMs from both ends, biaffine scores. Training minimises the
// cross-entropy of each word's head and label; a sentence gets the best tree of all (Chu and Liu
// 1965, Edmonds 1967).
// Words are columns of matrices: so an operation on each word runs for all words of all sentences
// of a minibatch at once, whatever their lengths are.
#include "examples/full/parser/model.h"

namespace dynet_like::examples {

namespace {

struct BiaffineModel final : ParserModel {
  const Inputs& in;
  unsigned hidden = in.hidden, small = 2 * hidden / 5;
  nn::BidirectionalLSTM encoder{
      in.parameters, in.outputs(), hidden, {.layers = 2, .dropout = in.rate}};
  nn::Linear arc_heads{in.parameters, 2 * hidden, hidden, {.name = "arc_heads"}};
  nn::Linear arc_dependants{in.parameters, 2 * hidden, hidden, {.name = "arc_dependants"}};
  nn::Linear label_heads{in.parameters, 2 * hidden, small, {.name = "label_heads"}};
  nn::Linear label_dependants{in.parameters, 2 * hidden, small, {.name = "label_dependants"}};
  nn::BiaffineArcs arcs{in.parameters, hidden};
  nn::BiaffineLabels labels{in.parameters, small, in.v.labels.size()};

  explicit BiaffineModel(const Inputs& inputs) : in(inputs) {}

  /// A column per word for each of its four roles. Heads begin with the root.
  struct Encoded {
    Expression arc_heads, arc_dependants, label_heads, label_dependants;
  };
  Encoded encode(ComputationGraph& graph, const Sentence& sentence) const {
    // Drops a whole word, or its part of speech.
    const auto read = [&](const nn::Embedding& table, const std::vector<unsigned>& ids) {
      return dropout_dim(table.columns(graph, ids), 0, in.rate);
    };
    const Expression word = read(in.words, in.v.word_ids(sentence));
    const Expression x = in(word, read(in.tags, in.v.tag_ids(sentence)), sentence);
    const Expression all = in.encoded(encoder, x);
    const Expression own = pick_range(all, 1, all.dim().cols(), 1);
    const auto part = [&](const auto& map, auto& of) { return dropout(relu(map(of)), in.rate); };
    return {part(arc_heads, all), part(arc_dependants, own), part(label_heads, all),
            part(label_dependants, own)};
  }
  Expression loss(ComputationGraph& graph, const Sentence& sentence) const override {
    const auto heads = sentence.heads(), gold = in.v.label_ids(sentence);
    const Encoded x = encode(graph, sentence);
    const Expression label_scores = labels(select_cols(x.label_heads, heads), x.label_dependants);
    return cross_entropy(arcs(x.arc_heads, x.arc_dependants), heads) +
           cross_entropy(label_scores, gold);
  }
  HeadsAndLabels tree(ComputationGraph& graph, const Sentence& sentence) const override {
    const Encoded x = encode(graph, sentence);
    const std::vector<Tensor> scores = values_of(
        {arcs(x.arc_heads, x.arc_dependants), labels.all_pairs(x.label_heads, x.label_dependants)});
    const std::vector<unsigned> heads = nn::chu_liu_edmonds(scores[0]);
    return {heads, nn::best_labels(scores[1], heads)};
  }
};

}  // namespace

std::unique_ptr<ParserModel> new_biaffine_model(const Inputs& inputs) {
  return std::make_unique<BiaffineModel>(inputs);
}

}  // namespace dynet_like::examples
