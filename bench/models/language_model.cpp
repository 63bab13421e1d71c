// LSTM language model.
#include "bench/models/models.h"
#include "bench/models/op_cells.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/lstm.h"

namespace dynet_like::bench {

namespace {

template <class Cell>
class LanguageModel : public Workload {
 public:
  explicit LanguageModel(unsigned hidden)
      : sentences_(make_sentences(kLanguageData)),
        embedding_(parameters_, kLanguageData.vocabulary, hidden),
        cell_(parameters_, hidden, hidden, {.name = "lstm"}),
        output_(parameters_, hidden, kLanguageData.vocabulary, {.name = "output"}) {}

  std::size_t size() const override { return sentences_.size(); }
  std::size_t words(std::size_t instance) const override {
    return sentences_[instance].words.size() - 1;
  }

  Expression loss(ComputationGraph& graph, std::size_t instance) const override {
    const std::vector<unsigned>& words = sentences_[instance].words;
    if constexpr (std::is_same_v<Cell, nn::LSTM>) {
      const std::vector<unsigned> before(words.begin(), words.end() - 1);
      const std::vector<unsigned> next(words.begin() + 1, words.end());
      return sum_batches(
          cross_entropy(output_(cell_(embedding_.columns(graph, before)).all().h), next));
    } else {
      std::vector<Expression> losses;
      auto state = cell_.start(graph);
      for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        state = cell_.step(state, embedding_(graph, words[i]));
        losses.push_back(cross_entropy(output_(state.h), words[i + 1]));
      }
      return sum(losses);
    }
  }

 private:
  std::vector<Sentence> sentences_;
  nn::Embedding embedding_;
  Cell cell_;
  nn::Linear output_;
};

}  // namespace

std::unique_ptr<Workload> make_language_model(unsigned hidden, Form form) {
  return make_form<LanguageModel<nn::LSTM>, LanguageModel<OpLSTM>>(hidden, form);
}

}  // namespace dynet_like::bench
