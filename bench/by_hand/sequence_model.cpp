// Common parts of the sentence models, and their list.
#include "bench/by_hand/sequence_model.h"

#include <stdexcept>

#include "bench/models/models.h"

namespace dynet_like::bench::by_hand {

namespace {

using Make = std::unique_ptr<SequenceModel> (*)(Workload& model);

Make maker_of(const std::string& name) {
  if (name == "tagger") return make_tagger;
  if (name == "language_model") return make_language_model;
  return nullptr;
}

}  // namespace

bool has_sequence_model(const std::string& name) { return maker_of(name) != nullptr; }

std::unique_ptr<SequenceModel> make_sequence_model(const std::string& name, unsigned hidden) {
  const Make make = maker_of(name);
  if (make == nullptr) throw std::invalid_argument("there is no model \"" + name + "\" by hand");
  return make(*make_model(name, hidden, Form::fused));
}

void SequenceModel::begin(std::span<const Sentence> sentences) {
  std::vector<std::size_t> lengths;
  for (const Sentence& sentence : sentences) lengths.push_back(words_of(sentence));
  steps_ = Steps(lengths);
  words_.clear();
  for (const Steps::Element& word : steps_.elements()) {
    words_.push_back(sentences[word.sequence].words[word.position]);
  }
  arena_.reset();
}

void SequenceModel::descend(const float* dwords, float rate) {
  table_.update(words_, dwords, rate);
  for (Weight* weight : weights()) weight->update(rate);
}

}  // namespace dynet_like::bench::by_hand
