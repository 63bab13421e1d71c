// The Tree-LSTM by hand: the same losses as the library's, before and after updates.
#include "bench/by_hand/tree_lstm.h"

#include <gtest/gtest.h>

#include "bench/models/models.h"

namespace dynet_like::bench {
namespace {

/// Steps of gradient descent on a few minibatches, by the library.
std::vector<double> library_losses(unsigned hidden, unsigned batch_size, int steps, float rate) {
  const std::unique_ptr<Workload> model = make_tree_lstm(hidden, Form::fused);
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

/// The same trees again and again: after the first step, every gradient shows in the loss.
TEST(ByHandTest, LossesAreThoseOfTheLibrary) {
  const std::vector<BinaryTree> trees = make_trees(kTreeData);
  constexpr float kRate = 0.002f;
  for (const unsigned hidden : {20u, 64u}) {
    for (const unsigned batch : {1u, 24u}) {
      by_hand::TreeLSTM model(hidden);
      const std::span<const BinaryTree> minibatch(trees.data(), batch);
      const std::vector<double> expected = library_losses(hidden, batch, 5, kRate);
      for (std::size_t step = 0; step < expected.size(); ++step) {
        EXPECT_NEAR(model.forward(minibatch, false) / expected[step], 1, 1e-5);
        EXPECT_NEAR(model.forward(minibatch, true) / expected[step], 1, 1e-5) << "step " << step;
        model.update(kRate);
      }
      EXPECT_LT(expected.back(), 0.999 * expected.front());  // far more than they may differ
    }
  }
}

TEST(ByHandTest, CountsAsTheLibraryDoes) {
  const std::vector<BinaryTree> trees = make_trees(kTreeData);
  by_hand::TreeLSTM by_hand(64);
  by_hand.forward({trees.data(), 8}, false);
  const std::unique_ptr<Workload> model = make_tree_lstm(64, Form::fused);
  Minibatch batch;
  for (unsigned i = 0; i < 8; ++i) batch.add_loss(model->loss(batch.new_graph(), i));
  batch.forward();
  EXPECT_NEAR(by_hand.product_flops() / batch.explain().product_flops, 1, 1e-9);
}

}  // namespace
}  // namespace dynet_like::bench
