// BiLSTM taggers: of word embeddings, and of characters for rare words.
#include "bench/models/models.h"
#include "bench/models/op_cells.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/lstm.h"

namespace dynet_like::bench {

namespace {

// Two cells that read a sequence in opposite directions.
template <class Cell>
class BiLSTM {
 public:
  BiLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden, const std::string& prefix)
      : forward_(model, inputs, hidden, {.name = prefix + "forward"}),
        backward_(model, inputs, hidden, {.name = prefix + "backward"}) {}

  // For every element, the states of both directions, concatenated.
  std::vector<Expression> read(ComputationGraph& graph, const std::vector<Expression>& xs) const {
    std::vector<Expression> forward, both(xs.size());
    auto state = forward_.start(graph);
    for (const Expression& x : xs) {
      state = forward_.step(state, x);
      forward.push_back(state.h);
    }
    state = backward_.start(graph);
    for (std::size_t i = xs.size(); i-- > 0;) {
      state = backward_.step(state, xs[i]);
      both[i] = concatenate({forward[i], state.h});
    }
    return both;
  }

  // The last states of both directions, concatenated.
  Expression summary(ComputationGraph& graph, const nn::Embedding& embedding,
                     const std::vector<unsigned>& elements) const {
    std::vector<Expression> xs;
    for (unsigned element : elements) xs.push_back(embedding(graph, element));
    auto left = forward_.start(graph), right = backward_.start(graph);
    for (std::size_t i = 0; i < xs.size(); ++i) {
      left = forward_.step(left, xs[i]);
      right = backward_.step(right, xs[xs.size() - 1 - i]);
    }
    return concatenate({left.h, right.h});
  }

 private:
  Cell forward_, backward_;
};

/// The same with layers, along matrices with a column for every element.
template <>
class BiLSTM<nn::LSTM> {
 public:
  BiLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden, const std::string& prefix)
      : forward_(model, inputs, hidden, {.name = prefix + "forward"}),
        backward_(model, inputs, hidden, {.name = prefix + "backward"}) {}

  Expression read(const Expression& xs) const {
    return concatenate({forward_(xs).all().h, backward_.backwards(xs).all().h});
  }
  Expression summary(ComputationGraph& graph, const nn::Embedding& embedding,
                     const std::vector<unsigned>& elements) const {
    const Expression columns = embedding.columns(graph, elements);
    return concatenate({forward_(columns).last().h, backward_.backwards(columns)[0].h});
  }

 private:
  nn::LSTM forward_, backward_;
};

template <class Cell>
class Tagger : public Workload {
 public:
  explicit Tagger(unsigned hidden)
      : sentences_(make_sentences(kTaggerData)),
        embedding_(parameters_, kTaggerData.vocabulary, kEmbedding),
        bilstm_(parameters_, kEmbedding, hidden, ""),
        hidden_layer_(parameters_, 2 * hidden, 32, {.name = "hidden"}),
        output_(parameters_, 32, kTaggerData.labels, {.name = "output"}) {}

  std::size_t size() const override { return sentences_.size(); }
  std::size_t words(std::size_t instance) const override {
    return sentences_[instance].words.size();
  }

  Expression loss(ComputationGraph& graph, std::size_t instance) const override {
    const Sentence& sentence = sentences_[instance];
    if constexpr (std::is_same_v<Cell, nn::LSTM>) {
      const Expression states = bilstm_.read(read_words(graph, sentence.words));
      return sum_batches(cross_entropy(output_(tanh(hidden_layer_(states))), sentence.tags));
    } else {
      std::vector<Expression> words, losses;
      for (unsigned word : sentence.words) words.push_back(read_word(graph, word));
      const std::vector<Expression> states = bilstm_.read(graph, words);
      for (std::size_t i = 0; i < states.size(); ++i) {
        const Expression scores = output_(tanh(hidden_layer_(states[i])));
        losses.push_back(cross_entropy(scores, sentence.tags[i]));
      }
      return sum(losses);
    }
  }

 protected:
  virtual Expression read_word(ComputationGraph& graph, unsigned word) const {
    return embedding_(graph, word);
  }
  virtual Expression read_words(ComputationGraph& graph, const std::vector<unsigned>& words) const {
    return embedding_.columns(graph, words);
  }

  std::vector<Sentence> sentences_;

 private:
  nn::Embedding embedding_;
  BiLSTM<Cell> bilstm_;
  nn::Linear hidden_layer_, output_;
};

template <class Cell>
class CharTagger : public Tagger<Cell> {
 public:
  explicit CharTagger(unsigned hidden)
      : Tagger<Cell>(hidden),
        spellings_(make_spellings(kTaggerData)),
        counts_(count_words(this->sentences_, kTaggerData.vocabulary)),
        characters_(this->parameters_, kCharacters, 20, {.name = "characters"}),
        bilstm_(this->parameters_, 20, kEmbedding / 2, "char_") {}

 private:
  Expression read_word(ComputationGraph& graph, unsigned word) const override {
    if (counts_[word] > kRareCount) return Tagger<Cell>::read_word(graph, word);
    return bilstm_.summary(graph, characters_, spellings_[word]);
  }
  Expression read_words(ComputationGraph& graph,
                        const std::vector<unsigned>& words) const override {
    std::vector<Expression> columns;
    for (unsigned word : words) columns.push_back(read_word(graph, word));
    return concatenate_cols(columns);
  }

  std::vector<std::vector<unsigned>> spellings_;
  std::vector<unsigned> counts_;
  nn::Embedding characters_;
  BiLSTM<Cell> bilstm_;
};

}  // namespace

std::unique_ptr<Workload> make_tagger(unsigned hidden, Form form) {
  return make_form<Tagger<nn::LSTM>, Tagger<OpLSTM>>(hidden, form);
}

std::unique_ptr<Workload> make_char_tagger(unsigned hidden, Form form) {
  return make_form<CharTagger<nn::LSTM>, CharTagger<OpLSTM>>(hidden, form);
}

}  // namespace dynet_like::bench
