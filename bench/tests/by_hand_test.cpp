// The Tree-LSTM by hand: the same losses as the library's, before and after updates.
#include "bench/by_hand/tree_lstm.h"

#include <gtest/gtest.h>

#include "bench/models/models.h"

namespace dynet_like::bench {
namespace {

/// Column-major {rows, columns} times columns, in double.
TEST(ByHandTest, ProductsOfAllShapes) {
  Random random(1);
  const auto draw = [&](std::size_t size) {
    std::vector<float> values(size);
    for (float& value : values) value = static_cast<float>(random.normal());
    return values;
  };
  for (const std::size_t rows : {1, 5, 16, 17, 33, 70}) {
    for (const std::size_t columns : {1, 9}) {
      for (std::size_t n = 1; n <= 30; ++n) {
        const std::vector<float> a = draw(rows * columns), transposed = draw(columns * rows);
        const std::vector<float> x = draw(n * columns), bias = draw(rows), before = draw(n * rows);
        by_hand::PackedMatrix first, second;
        first.pack(a.data(), rows, columns);
        second.pack_transposed(transposed.data(), columns, rows);
        std::vector<float> y = before;
        std::vector<const float*> xs;
        std::vector<float*> ys;
        for (std::size_t i = 0; i < n; ++i) {
          xs.push_back(x.data() + (n - 1 - i) * columns);
          ys.push_back(y.data() + i * rows);
        }
        const by_hand::Term terms[] = {{&first, xs.data()}, {&second, xs.data()}};
        const bool add = n % 2 == 0;
        by_hand::multiply(terms, bias.data(), n, ys.data(), add);
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t r = 0; r < rows; ++r) {
            double expected = bias[r] + (add ? before[i * rows + r] : 0.0f);
            for (std::size_t k = 0; k < columns; ++k) {
              expected += (a[k * rows + r] + transposed[r * columns + k]) * xs[i][k];
            }
            ASSERT_NEAR(y[i * rows + r], expected, 1e-4) << rows << ' ' << columns << ' ' << n;
          }
        }
      }
    }
  }
}

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
