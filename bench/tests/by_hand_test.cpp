// The Tree-LSTMs by hand: the same losses as the library's, before and after updates.
#include "bench/by_hand/tree_lstm.h"

#include <gtest/gtest.h>

#include "bench/models/models.h"

namespace dynet_like::bench {
namespace {

/// Steps of gradient descent on a few minibatches, by the library.
std::vector<double> library_losses(const std::string& name, unsigned hidden, unsigned batch_size,
                                   int steps, float rate) {
  const std::unique_ptr<Workload> model = make_model(name, hidden, Form::fused);
  SimpleSGDTrainer trainer(model->parameters(), rate);
  Minibatch batch;
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    batch.clear();
    for (unsigned i = 0; i < batch_size; ++i) {
      batch.add_loss(model->loss(batch.new_graph(), i));
    }
    losses.push_back(static_cast<double>(batch.forward()));
    trainer.update(batch.backward());
  }
  return losses;
}

class ByHandTest : public ::testing::TestWithParam<const char*> {};

/// The same trees again and again: after the first step, every gradient shows in the loss.
TEST_P(ByHandTest, LossesAreThoseOfTheLibrary) {
  const std::vector<BinaryTree> trees = make_trees(kTreeData);
  constexpr float kRate = 0.001f;
  for (const unsigned hidden : {20u, 64u}) {
    for (const unsigned batch : {1u, 64u}) {
      by_hand::TreeLSTM model(GetParam(), hidden);
      const std::span<const BinaryTree> minibatch(trees.data(), batch);
      const std::vector<double> expected = library_losses(GetParam(), hidden, batch, 5, kRate);
      for (std::size_t step = 0; step < expected.size(); ++step) {
        EXPECT_NEAR(model.forward(minibatch, false) / expected[step], 1, 1e-5);
        EXPECT_NEAR(model.forward(minibatch, true) / expected[step], 1, 1e-5) << "step " << step;
        model.update(kRate);
      }
      EXPECT_LT(expected.back(), 0.999 * expected.front());  // far more than they may differ
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
