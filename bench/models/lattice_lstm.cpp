// Lattice LSTM: a cell per arc, and a weighted mean if several arcs end at a position.
#include "bench/models/models.h"
#include "bench/models/op_cells.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/lstm.h"

namespace dynet_like::bench {

namespace {

template <class Cell>
class LatticeLSTM : public Workload {
 public:
  explicit LatticeLSTM(unsigned hidden)
      : lattices_(make_lattices(kLatticeData)),
        embedding_(parameters_, kLatticeData.vocabulary, kEmbedding),
        cell_(parameters_, kEmbedding, hidden, {.name = "lstm"}),
        score_(parameters_, hidden, 1, {.name = "score"}),
        output_(parameters_, hidden, kLatticeData.labels, {.name = "output"}) {}

  std::size_t size() const override { return lattices_.size(); }
  std::size_t words(std::size_t instance) const override { return lattices_[instance].arcs.size(); }

  Expression loss(ComputationGraph& graph, std::size_t instance) const override {
    const Lattice& lattice = lattices_[instance];
    std::vector<State> positions = {cell_.start(graph)}, ending;
    std::vector<Expression> losses;
    auto arc = lattice.arcs.begin();
    for (std::size_t end = 1; end <= lattice.tags.size(); ++end) {
      ending.clear();
      for (; arc != lattice.arcs.end() && arc->end == end; ++arc) {
        ending.push_back(cell_.step(positions[arc->begin], embedding_(graph, arc->word)));
      }
      positions.push_back(ending.size() == 1 ? ending[0] : merge(ending));
      const Expression scores = output_(positions.back().h);
      losses.push_back(cross_entropy(scores, lattice.tags[end - 1]));
    }
    return sum(losses);
  }

 private:
  using State = typename Cell::State;

  State merge(const std::vector<State>& states) const {
    std::vector<Expression> scores, hs, cs;
    for (const State& state : states) scores.push_back(score_(state.h));
    const Expression weights = softmax(concatenate(scores));
    for (unsigned i = 0; i < states.size(); ++i) {
      const Expression weight = pick_range(weights, i, i + 1);
      hs.push_back(cmult(states[i].h, weight));
      cs.push_back(cmult(states[i].c, weight));
    }
    return {sum(hs), sum(cs)};
  }

  std::vector<Lattice> lattices_;
  nn::Embedding embedding_;
  Cell cell_;
  nn::Linear score_, output_;
};

}  // namespace

std::unique_ptr<Workload> make_lattice_lstm(unsigned hidden, Form form) {
  return make_form<LatticeLSTM<nn::LSTM>, LatticeLSTM<OpLSTM>>(hidden, form);
}

}  // namespace dynet_like::bench
