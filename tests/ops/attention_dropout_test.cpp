// Dropout of attention's weights.
#include <gtest/gtest.h>

#include "dynet_like/dynet_like.h"
#include "dynet_like/train/gradient_check.h"
#include "tests/support/layers.h"

namespace dynet_like {
namespace {

// With the values e_1, e_2, ..., results are the weights themselves.
TEST(AttentionDropoutTest, DropsWeights) {
  constexpr unsigned kKeys = 37, kQueries = 50;
  constexpr float kRate = 0.25f;
  GraphOptions options;
  options.seed = 5;
  ComputationGraph graph(options);
  std::vector<float> ones_on_diagonal(2 * kKeys * kKeys, 0);
  for (unsigned i = 0; i < 2 * kKeys; ++i) ones_on_diagonal[2 * kKeys * (i % kKeys) + i] = 1;
  const Expression q = random_normal(graph, {4, kQueries}), k = random_normal(graph, {4, kKeys}),
                   v = input(graph, {2 * kKeys, kKeys}, ones_on_diagonal);
  const std::vector<float> all = as_vector(attention(q, k, v, {.heads = 2}).value());
  const std::vector<float> kept =
      as_vector(attention(q, k, v, {.heads = 2, .dropout = kRate}).value());
  unsigned dropped = 0, same_as_before = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_NEAR(kept[i], kept[i] == 0 ? 0 : all[i] / (1 - kRate), 1e-6);
    dropped += kept[i] == 0;
    same_as_before += i >= kKeys && (kept[i] == 0) == (kept[i - kKeys] == 0);
  }
  // Three standard deviations of independent draws.
  EXPECT_NEAR(dropped / static_cast<double>(all.size()), kRate, 0.022);
  EXPECT_NEAR(same_as_before / static_cast<double>(all.size() - kKeys), 0.625, 0.024);
  EXPECT_NE(as_vector(attention(q, k, v, {.heads = 2, .dropout = kRate}).value()), kept);
  EXPECT_THROW(attention(q, k, v, {.dropout = 1}), UsageError);
  options.inference = true;
  ComputationGraph inference(options);
  const Expression x = ones(inference, {4, 3});
  attention(x, x, x, {.dropout = 0.5f});
  EXPECT_EQ(inference.explain().types.size(), 0u);
  EXPECT_EQ(inference.size(), 2u);  // without numbers of its own
}

// The same seed drops the same weights, so numeric gradients are those of one function.
TEST(AttentionDropoutTest, HasItsGradient) {
  for (const unsigned reach : {0u, 2u}) {
    ParameterCollection own(7, DType::f64);
    const Parameter q = own.add_parameters({6, 9}), k = own.add_parameters({6, 9}),
                    v = own.add_parameters({4, 9});
    const auto loss = [&](ComputationGraph& graph) {
      graph.set_seed(3);
      const Expression y =
          attention(parameter(graph, q), k, v, {.heads = 2, .reach = reach, .dropout = 0.4f});
      return sum_elems(cmult(y, sin(y + 1.0f)));
    };
    EXPECT_LT(check_gradients(own, loss).error(), 1e-7);
  }
}

// Samples drop the same weights alone and in any minibatch.
TEST(AttentionDropoutTest, DoesNotDependOnTheBatch) {
  ParameterCollection model(1);
  const LookupParameter table = model.add_lookup_parameters(11, {16});
  const std::vector<unsigned> lengths = {5, 1, 9, 17, 2, 9, 30, 3};
  nn::expect_same_bits_in_batches(model, 8, [&](ComputationGraph& graph, unsigned sample) {
    std::vector<unsigned> rows(lengths[sample]);
    for (unsigned i = 0; i < rows.size(); ++i) rows[i] = (i + sample) % 11;
    const Expression x = reshape(lookup(graph, table, rows), Dim({16, lengths[sample]}));
    return squared_norm(attention(x, x, x, {.heads = 4, .dropout = 0.3f}));
  });
}

}  // namespace
}  // namespace dynet_like
