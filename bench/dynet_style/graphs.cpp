// Models over irregular graphs, written for DyNet's headers: lattice LSTM and random DAG.
#include "bench/dynet_style/layers.h"
#include "bench/dynet_style/models.h"
#include "bench/models/workload.h"

using dynet_like::bench::DyNetModel;
using dynet_like::bench::kDagData;
using dynet_like::bench::kEmbedding;
using dynet_like::bench::kLatticeData;
using dynet_like::bench::Lattice;
using dynet_like::bench::RandomDag;
using std::vector;

namespace dynet_style {

namespace {

class LatticeModel : public DyNetModel {
 public:
  explicit LatticeModel(unsigned hidden)
      : lattices_(make_lattices(kLatticeData)),
        p_e_(model.add_subcollection("embedding")
                 .add_lookup_parameters(kLatticeData.vocabulary, {kEmbedding}, "E")),
        lstm_(model, kEmbedding, hidden, "lstm"),
        score_(model, hidden, 1, "score"),
        output_(model, hidden, kLatticeData.labels, "output") {}

  std::size_t size() const override { return lattices_.size(); }
  std::size_t words(std::size_t instance) const override { return lattices_[instance].arcs.size(); }

  Expression loss(ComputationGraph& cg, std::size_t instance) override {
    const Lattice& lattice = lattices_[instance];
    vector<State> positions = {lstm_.start(cg)};
    vector<Expression> losses;
    auto arc = lattice.arcs.begin();
    for (unsigned end = 1; end <= lattice.tags.size(); ++end) {
      vector<State> ending;
      for (; arc != lattice.arcs.end() && arc->end == end; ++arc) {
        ending.push_back(lstm_.step(positions[arc->begin], lookup(cg, p_e_, arc->word), cg));
      }
      positions.push_back(ending.size() == 1 ? ending[0] : merge(ending, cg));
      const Expression scores = output_.apply(positions.back().h, cg);
      losses.push_back(pickneglogsoftmax(scores, lattice.tags[end - 1]));
    }
    return sum(losses);
  }

 private:
  State merge(const vector<State>& states, ComputationGraph& cg) const {
    vector<Expression> scores, hs, cs;
    for (const State& state : states) scores.push_back(score_.apply(state.h, cg));
    const Expression weights = softmax(concatenate(scores));
    for (unsigned i = 0; i < states.size(); ++i) {
      const Expression weight = pick_range(weights, i, i + 1);
      hs.push_back(cmult(states[i].h, weight));
      cs.push_back(cmult(states[i].c, weight));
    }
    return {sum(hs), sum(cs)};
  }

  vector<Lattice> lattices_;
  LookupParameter p_e_;
  LSTM lstm_;
  Layer score_, output_;
};

class DagModel : public DyNetModel {
 public:
  explicit DagModel(unsigned hidden)
      : dags_(make_dags(kDagData)),
        p_e_(model.add_subcollection("embedding")
                 .add_lookup_parameters(kDagData.vocabulary, {kEmbedding}, "E")),
        word_(model, kEmbedding, hidden, "word"),
        combine_(model, hidden, "combine"),
        gate_(model, hidden, "gate"),
        gru_(model, hidden, hidden, "gru"),
        output_(model, hidden, kDagData.labels, "output") {}

  std::size_t size() const override { return dags_.size(); }
  std::size_t words(std::size_t instance) const override { return dags_[instance].nodes.size(); }

  Expression loss(ComputationGraph& cg, std::size_t instance) override {
    vector<Expression> values, losses;
    for (const RandomDag::Node& node : dags_[instance].nodes) {
      values.push_back(value(node, values, cg));
      if (node.is_sink) {
        losses.push_back(pickneglogsoftmax(output_.apply(values.back(), cg), node.label));
      }
    }
    return sum(losses);
  }

 private:
  Expression value(const RandomDag::Node& node, const vector<Expression>& values,
                   ComputationGraph& cg) const {
    using Kind = RandomDag::Kind;
    if (node.kind == Kind::word) return tanh(word_.apply(lookup(cg, p_e_, node.a), cg));
    const Expression &p = values[node.a], &q = values[node.b];
    if (node.kind == Kind::combine) return tanh(combine_.apply(p, q, cg));
    if (node.kind == Kind::gru) return gru_.step(p, q, cg);
    const Expression gate = logistic(gate_.apply(p, q, cg));
    return cmult(gate, p) + cmult(1.f - gate, q);
  }

  vector<RandomDag> dags_;
  LookupParameter p_e_;
  Layer word_;
  TwoInputs combine_, gate_;
  GRU gru_;
  Layer output_;
};

}  // namespace

}  // namespace dynet_style

namespace dynet_like::bench {

std::unique_ptr<DyNetModel> make_dynet_lattice_lstm(unsigned hidden) {
  return std::make_unique<dynet_style::LatticeModel>(hidden);
}
std::unique_ptr<DyNetModel> make_dynet_random_dag(unsigned hidden) {
  return std::make_unique<dynet_style::DagModel>(hidden);
}

}  // namespace dynet_like::bench
