// The LSTM language model.
#include "bench/by_hand/lstm.h"
#include "bench/by_hand/sequence_model.h"
#include "bench/by_hand/word_losses.h"

namespace dynet_like::bench::by_hand {

namespace {

class LanguageModel : public SequenceModel {
 public:
  explicit LanguageModel(Workload& model)
      : SequenceModel(model, kLanguageData, 1),
        lstm_(*queue_, model, "/lstm"),
        output_(*queue_, model, "/output") {}

  double forward(std::span<const Sentence> sentences, bool train) override {
    begin(sentences);
    set_labels(sentences, [](const Sentence& sentence, std::size_t position) {
      return sentence.words[position + 1];
    });
    lstm_.forward(steps_, table_.rows(words_), arena_, train);
    if (!train) return output_.forward(lstm_.h(), labels_, arena_);
    return output_.forward_and_backward(lstm_.h(), labels_, arena_, lstm_.dh());
  }

  void update(float rate) override {
    auto* dwords = arena_.allocate_array<float>(words() * table_.size());
    lstm_.backward({rows(dwords, words(), table_.size()), false});
    descend(dwords, rate);
  }

  std::vector<Weight*> weights() override {
    std::vector<Weight*> all = lstm_.weights();
    for (Weight* weight : output_.weights()) all.push_back(weight);
    return all;
  }

  double product_flops() const override {
    return lstm_.product_flops() + static_cast<double>(words()) * output_.product_flops();
  }

 private:
  LSTM lstm_;
  WordLosses output_;
};

}  // namespace

std::unique_ptr<SequenceModel> make_language_model(Workload& model) {
  return std::make_unique<LanguageModel>(model);
}

}  // namespace dynet_like::bench::by_hand
