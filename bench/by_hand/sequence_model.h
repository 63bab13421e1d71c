// The sentence models of the benchmark without graphs: no recording, no batching engine, plain
// arrays.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/by_hand/parameters.h"
#include "bench/by_hand/steps.h"

namespace dynet_like::bench::by_hand {

/// Does the work of make_model(name, hidden, Form::fused) by hand, with the library's kernels and
/// the same initial weights. Sentences are sorted by length, and the words of an LSTM's step are
/// run together. The layers around it run all words of the minibatch at once, or as many as fit
/// into the cache.
class SequenceModel {
 public:
  virtual ~SequenceModel() = default;

  /// The sum of the losses of these sentences. `train`: update will follow.
  virtual double forward(std::span<const Sentence> sentences, bool train) = 0;
  /// Computes the gradients of the last forward pass, and makes a step of gradient descent.
  virtual void update(float rate) = 0;

  /// All weights except the table of words. Parts of a matrix have the same name and follow each
  /// other.
  virtual std::vector<Weight*> weights() = 0;
  std::span<const float> table() const { return table_.values(); }

  /// Floating-point operations of the products of the last forward pass.
  virtual double product_flops() const = 0;
  /// Number of steps of LSTMs in the last minibatch.
  virtual std::size_t steps() const { return steps_.count(); }
  /// The number of words of a sentence that are read.
  std::size_t words_of(const Sentence& sentence) const { return sentence.words.size() - not_read_; }
  /// The data of the library's model.
  const DataOptions& data() const { return data_; }

 protected:
  /// `not_read`: so many words at the end of every sentence are only predicted, not read.
  SequenceModel(Workload& model, const DataOptions& data, std::size_t not_read)
      : queue_(make_cpu_queue()), table_(model), data_(data), not_read_(not_read) {}

  /// Sorts the words that are read, and drops the last minibatch.
  void begin(std::span<const Sentence> sentences);
  /// label(sentence, position), for every word that is read.
  template <class Label>
  void set_labels(std::span<const Sentence> sentences, const Label& label) {
    labels_.clear();
    for (const Steps::Element& word : steps_.elements()) {
      labels_.push_back(label(sentences[word.sequence], word.position));
    }
  }
  std::size_t words() const { return words_.size(); }
  /// Updates the table by the gradients of the words that were read, and all weights.
  void descend(const float* dwords, float rate);

  std::unique_ptr<Queue> queue_;
  Table table_;
  Arena arena_;
  Steps steps_;
  std::vector<unsigned> words_;  ///< by element
  std::vector<std::uint32_t> labels_;

 private:
  DataOptions data_;
  std::size_t not_read_;
};

/// Whether there is such a model by hand: "tagger" or "language_model".
bool has_sequence_model(const std::string& name);
/// Throws std::invalid_argument if there is none.
std::unique_ptr<SequenceModel> make_sequence_model(const std::string& name, unsigned hidden);

std::unique_ptr<SequenceModel> make_tagger(Workload& model);
std::unique_ptr<SequenceModel> make_language_model(Workload& model);

}  // namespace dynet_like::bench::by_hand
