// The models by hand have the same losses as the library's, before and after updates.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "bench/by_hand/sequence_model.h"
#include "bench/by_hand/tree_lstm.h"
#include "bench/models/models.h"

namespace dynet_like::bench {
namespace {

constexpr float kRate = 0.001f;

/// A model of the library, on the same instances in every step.
class Library {
 public:
  Library(const std::string& name, unsigned hidden, unsigned batch)
      : model_(make_model(name, hidden, Form::fused)),
        trainer_(model_->parameters(), kRate),
        batch_size_(batch) {}
  /// Returns the loss, and makes a step of gradient descent.
  double step() {
    batch_.clear();
    for (unsigned i = 0; i < batch_size_; ++i) {
      batch_.add_loss(model_->loss(batch_.new_graph(), i));
    }
    const auto loss = static_cast<double>(batch_.forward());
    trainer_.update(batch_.backward());
    return loss;
  }
  std::size_t parameters() const { return model_->parameters().size(); }
  std::vector<float> values(const std::string& name) const {
    return as_vector(model_->parameters().find(name)->tensor());
  }

 private:
  std::unique_ptr<Workload> model_;
  SimpleSGDTrainer trainer_;
  unsigned batch_size_;
  Minibatch batch_;
};

double distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

/// The values by name. Parts of a matrix have the same name, and follow each other.
template <class Model>
std::map<std::string, std::vector<float>> values_of(Model& model) {
  std::map<std::string, std::vector<float>> values;
  for (const by_hand::Weight* weight : model.weights()) {
    std::vector<float>& all = values[weight->name()];
    all.insert(all.end(), weight->values(), weight->values() + weight->dim().size());
  }
  values["/embedding/E"].assign(model.table().begin(), model.table().end());
  return values;
}

template <class Model, class Instance>
void expect_what_the_library_does(const std::string& name, unsigned hidden, Model& model,
                                  std::span<const Instance> minibatch) {
  const auto batch = static_cast<unsigned>(minibatch.size());
  SCOPED_TRACE(name + ", hidden " + std::to_string(hidden) + ", batch " + std::to_string(batch));
  Library library(name, hidden, batch);
  const Library untrained(name, hidden, batch);
  for (int step = 0; step < 5; ++step) {
    const double expected = library.step();
    EXPECT_NEAR(model.forward(minibatch, false) / expected, 1, 1e-5);
    EXPECT_NEAR(model.forward(minibatch, true) / expected, 1, 1e-5) << "step " << step;
    model.update(kRate);
  }
  EXPECT_EQ(values_of(model).size(), library.parameters());
  // Relative to the distance that they have moved, which depends on every gradient.
  for (const auto& [parameter, values] : values_of(model)) {
    const std::vector<float> end = library.values(parameter), begin = untrained.values(parameter);
    ASSERT_EQ(values.size(), end.size());
    EXPECT_LT(distance(values, end), 1e-3 * distance(begin, end)) << parameter;
  }
}

/// Floating-point operations of the products of the library's model.
double product_flops(const std::string& name, unsigned hidden, unsigned instances) {
  const std::unique_ptr<Workload> model = make_model(name, hidden, Form::fused);
  Minibatch batch;
  for (unsigned i = 0; i < instances; ++i) batch.add_loss(model->loss(batch.new_graph(), i));
  batch.forward();
  return batch.explain().product_flops;
}

class ByHandTest : public ::testing::TestWithParam<const char*> {};

/// In minibatches of 64, some heights have more nodes than are run at a time.
TEST_P(ByHandTest, LossesAndWeightsAreThoseOfTheLibrary) {
  const std::vector<BinaryTree> trees = make_trees(kTreeData);
  for (const unsigned hidden : {20u, 64u}) {
    for (const unsigned batch : {1u, 64u}) {
      by_hand::TreeLSTM model(GetParam(), hidden);
      expect_what_the_library_does(GetParam(), hidden, model,
                                   std::span<const BinaryTree>(trees.data(), batch));
    }
  }
}

TEST_P(ByHandTest, CountsAsTheLibraryDoes) {
  const std::vector<BinaryTree> trees = make_trees(kTreeData);
  by_hand::TreeLSTM by_hand(GetParam(), 64);
  by_hand.forward({trees.data(), 8}, false);
  EXPECT_NEAR(by_hand.product_flops() / product_flops(GetParam(), 64, 8), 1, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(All, ByHandTest,
                         ::testing::Values(by_hand::TreeLSTM::kBothForget,
                                           by_hand::TreeLSTM::kOwnForget),
                         [](const auto& info) { return std::string(info.param); });

class SequencesByHandTest : public ::testing::TestWithParam<const char*> {};

/// Sentences have different lengths, and some words are repeated. In minibatches of 64, the
/// language model has more words than are scored at a time.
TEST_P(SequencesByHandTest, LossesAndWeightsAreThoseOfTheLibrary) {
  for (const unsigned hidden : {20u, 64u}) {
    for (const unsigned batch : {1u, 64u}) {
      const auto model = by_hand::make_sequence_model(GetParam(), hidden);
      const std::vector<Sentence> sentences = make_sentences(model->data());
      expect_what_the_library_does(GetParam(), hidden, *model,
                                   std::span<const Sentence>(sentences.data(), batch));
    }
  }
}

/// Except for products with the zeros before the first word.
TEST_P(SequencesByHandTest, CountsAsTheLibraryDoes) {
  constexpr unsigned kHidden = 64, kSentences = 8;
  const auto by_hand = by_hand::make_sequence_model(GetParam(), kHidden);
  const std::vector<Sentence> sentences = make_sentences(by_hand->data());
  by_hand->forward({sentences.data(), kSentences}, false);
  const double directions = GetParam() == std::string("tagger") ? 2 : 1;
  const double of_zeros = directions * kSentences * 8 * kHidden * kHidden;
  EXPECT_NEAR(
      (by_hand->product_flops() + of_zeros) / product_flops(GetParam(), kHidden, kSentences), 1,
      1e-9);
}

INSTANTIATE_TEST_SUITE_P(All, SequencesByHandTest, ::testing::Values("tagger", "language_model"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ByHandModelsTest, OthersAreRefused) {
  EXPECT_THROW(by_hand::TreeLSTM("tagger", 8), std::invalid_argument);
  EXPECT_THROW(by_hand::make_sequence_model("tree_lstm", 8), std::invalid_argument);
}

TEST(ByHandStepsTest, LongSequencesComeFirst) {
  const std::size_t lengths[] = {1, 3, 0, 3, 2};
  const by_hand::Steps steps(lengths);
  ASSERT_EQ(steps.count(), 3u);
  std::vector<std::size_t> sequences, positions, mirrored;
  for (const auto& element : steps.elements()) {
    sequences.push_back(element.sequence);
    positions.push_back(element.position);
    mirrored.push_back(element.mirrored);
  }
  using Numbers = std::vector<std::size_t>;
  EXPECT_EQ(sequences, (Numbers{1, 3, 4, 0, 1, 3, 4, 1, 3}));
  EXPECT_EQ(positions, (Numbers{0, 0, 0, 0, 1, 1, 1, 2, 2}));
  EXPECT_EQ(mirrored, (Numbers{7, 8, 6, 3, 4, 5, 2, 0, 1}));
  EXPECT_EQ(steps.begin(2), 7u);
  EXPECT_EQ(steps.width(2), 2u);
  EXPECT_EQ(steps.width(3), 0u);
  EXPECT_EQ(by_hand::Steps(std::span<const std::size_t>()).count(), 0u);
}

}  // namespace
}  // namespace dynet_like::bench
