// BiLSTM taggers, written for DyNet's headers: gate by gate, and with DyNet's builders.
#include <dynet/lstm.h>

#include "bench/dynet_style/layers.h"
#include "bench/dynet_style/models.h"
#include "bench/models/workload.h"

using dynet_like::bench::DyNetModel;
using dynet_like::bench::kCharacters;
using dynet_like::bench::kEmbedding;
using dynet_like::bench::kTaggerData;
using dynet_like::bench::Sentence;
using std::string;
using std::vector;

namespace dynet_style {

namespace {

// Reads a sequence with LSTM, gate by gate.
class GateByGate {
 public:
  GateByGate(ParameterCollection& model, unsigned inputs, unsigned hidden, const string& name)
      : lstm_(model, inputs, hidden, name) {}

  void start(ComputationGraph& cg) { state_ = lstm_.start(cg); }
  Expression add_input(const Expression& x, ComputationGraph& cg) {
    state_ = lstm_.step(state_, x, cg);
    return state_.h;
  }
  Expression back() const { return state_.h; }

 private:
  LSTM lstm_;
  State state_;
};

// Reads a sequence with DyNet's builder.
class Built {
 public:
  Built(ParameterCollection& model, unsigned inputs, unsigned hidden, const string&)
      : builder_(1, inputs, hidden, model) {}

  void start(ComputationGraph& cg) {
    builder_.new_graph(cg);
    builder_.start_new_sequence();
  }
  Expression add_input(const Expression& x, ComputationGraph&) { return builder_.add_input(x); }

 private:
  VanillaLSTMBuilder builder_;
};

template <class Reader>
class TaggerModel : public DyNetModel {
 public:
  explicit TaggerModel(unsigned hidden)
      : sentences_(make_sentences(kTaggerData)),
        p_e_(model.add_subcollection("embedding")
                 .add_lookup_parameters(kTaggerData.vocabulary, {kEmbedding}, "E")),
        forward_(model, kEmbedding, hidden, "forward"),
        backward_(model, kEmbedding, hidden, "backward"),
        hidden_(model, 2 * hidden, 32, "hidden"),
        output_(model, 32, kTaggerData.labels, "output") {}

  std::size_t size() const override { return sentences_.size(); }
  std::size_t words(std::size_t instance) const override {
    return sentences_[instance].words.size();
  }

  Expression loss(ComputationGraph& cg, std::size_t instance) override {
    const Sentence& sentence = sentences_[instance];
    const unsigned n = static_cast<unsigned>(sentence.words.size());
    vector<Expression> x(n), left(n), both(n), losses(n);
    for (unsigned i = 0; i < n; ++i) x[i] = word(sentence.words[i], cg);
    forward_.start(cg);
    for (unsigned i = 0; i < n; ++i) left[i] = forward_.add_input(x[i], cg);
    backward_.start(cg);
    for (unsigned i = n; i-- > 0;) {
      both[i] = concatenate({left[i], backward_.add_input(x[i], cg)});
    }
    for (unsigned i = 0; i < n; ++i) {
      const Expression scores = output_.apply(tanh(hidden_.apply(both[i], cg)), cg);
      losses[i] = pickneglogsoftmax(scores, sentence.tags[i]);
    }
    return sum(losses);
  }

 protected:
  virtual Expression word(unsigned w, ComputationGraph& cg) { return lookup(cg, p_e_, w); }

  vector<Sentence> sentences_;

 private:
  LookupParameter p_e_;
  Reader forward_, backward_;
  Layer hidden_, output_;
};

class CharTaggerModel : public TaggerModel<GateByGate> {
 public:
  explicit CharTaggerModel(unsigned hidden)
      : TaggerModel(hidden),
        spellings_(make_spellings(kTaggerData)),
        counts_(count_words(sentences_, kTaggerData.vocabulary)),
        p_c_(model.add_subcollection("characters").add_lookup_parameters(kCharacters, {20}, "E")),
        forward_(model, 20, kEmbedding / 2, "char_forward"),
        backward_(model, 20, kEmbedding / 2, "char_backward") {}

 private:
  Expression word(unsigned w, ComputationGraph& cg) override {
    if (counts_[w] > dynet_like::bench::kRareCount) return TaggerModel::word(w, cg);
    const vector<unsigned>& spelling = spellings_[w];
    const std::size_t n = spelling.size();
    vector<Expression> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = lookup(cg, p_c_, spelling[i]);
    forward_.start(cg);
    backward_.start(cg);
    for (std::size_t i = 0; i < n; ++i) {
      forward_.add_input(x[i], cg);
      backward_.add_input(x[n - 1 - i], cg);
    }
    return concatenate({forward_.back(), backward_.back()});
  }

  vector<vector<unsigned>> spellings_;
  vector<unsigned> counts_;
  LookupParameter p_c_;
  GateByGate forward_, backward_;
};

}  // namespace

}  // namespace dynet_style

namespace dynet_like::bench {

std::unique_ptr<DyNetModel> make_dynet_tagger(unsigned hidden) {
  return std::make_unique<dynet_style::TaggerModel<dynet_style::GateByGate>>(hidden);
}
std::unique_ptr<DyNetModel> make_dynet_tagger_with_builders(unsigned hidden) {
  return std::make_unique<dynet_style::TaggerModel<dynet_style::Built>>(hidden);
}
std::unique_ptr<DyNetModel> make_dynet_char_tagger(unsigned hidden) {
  return std::make_unique<dynet_style::CharTaggerModel>(hidden);
}

}  // namespace dynet_like::bench
