// The Tree-LSTMs by hand: the same losses as the library's, before and after updates.
#include "bench/by_hand/tree_lstm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bench/models/models.h"

namespace dynet_like::bench {
namespace {

constexpr float kRate = 0.001f;

/// A model of the library on the same trees again and again.
class Library {
 public:
  Library(const std::string& name, unsigned hidden, unsigned batch)
      : model_(make_model(name, hidden, Form::fused)),
        trainer_(model_->parameters(), kRate),
        batch_size_(batch) {}
  /// The loss, and a step of gradient descent.
  double step() {
    batch_.clear();
    for (unsigned i = 0; i < batch_size_; ++i) {
      batch_.add_loss(model_->loss(batch_.new_graph(), i));
    }
    const auto loss = static_cast<double>(batch_.forward());
    trainer_.update(batch_.backward());
    return loss;
  }
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

class ByHandTest : public ::testing::TestWithParam<const char*> {};

/// Minibatches of 64 have heights of more nodes than are run at a time.
TEST_P(ByHandTest, LossesAndWeightsAreThoseOfTheLibrary) {
  const std::vector<BinaryTree> trees = make_trees(kTreeData);
  for (const unsigned hidden : {20u, 64u}) {
    for (const unsigned batch : {1u, 64u}) {
      by_hand::TreeLSTM model(GetParam(), hidden);
      Library library(GetParam(), hidden, batch);
      const Library untrained(GetParam(), hidden, batch);
      const std::span<const BinaryTree> minibatch(trees.data(), batch);
      for (int step = 0; step < 5; ++step) {
        const double expected = library.step();
        EXPECT_NEAR(model.forward(minibatch, false) / expected, 1, 1e-5);
        EXPECT_NEAR(model.forward(minibatch, true) / expected, 1, 1e-5) << "step " << step;
        model.update(kRate);
      }
      // As shares of how far they have moved, which every gradient shows in.
      const auto check = [&](const std::string& name, std::span<const float> values) {
        const std::vector<float> end = library.values(name), begin = untrained.values(name);
        ASSERT_EQ(values.size(), end.size());
        EXPECT_LT(distance(values, end), 1e-3 * distance(begin, end)) << name;
      };
      for (const by_hand::Weight* weight : model.weights()) {
        check(weight->name(), {weight->values(), weight->dim().size()});
      }
      check("/embedding/E", model.table());
    }
  }
}

TEST_P(ByHandTest, CountsAsTheLibraryDoes) {
  const std::vector<BinaryTree> trees = make_trees(kTreeData);
  by_hand::TreeLSTM by_hand(GetParam(), 64);
  by_hand.forward({trees.data(), 8}, false);
  const std::unique_ptr<Workload> model = make_model(GetParam(), 64, Form::fused);
  Minibatch batch;
  for (unsigned i = 0; i < 8; ++i) batch.add_loss(model->loss(batch.new_graph(), i));
  batch.forward();
  EXPECT_NEAR(by_hand.product_flops() / batch.explain().product_flops, 1, 1e-9);
}

TEST(ByHandModelsTest, OthersAreRefused) {
  EXPECT_THROW(by_hand::TreeLSTM("tagger", 8), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(All, ByHandTest,
                         ::testing::Values(by_hand::TreeLSTM::kBothForget,
                                           by_hand::TreeLSTM::kOwnForget),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace dynet_like::bench
