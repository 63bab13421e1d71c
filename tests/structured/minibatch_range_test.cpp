// minibatch_range: which elements, no copies, gradients, errors.
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

TEST(MinibatchRangeTest, IsAViewOfItsElements) {
  ComputationGraph graph;
  const Expression x = input(graph, Dim({1, 2}, 4), {0, 1, 2, 3, 4, 5, 6, 7});
  const std::size_t nodes = graph.size();
  const Expression middle = minibatch_range(x, 1, 2);
  EXPECT_EQ(middle.dim(), Dim({1, 2}, 2));
  EXPECT_EQ(as_vector(middle.value()), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(as_vector(minibatch_range(middle, 1, 1).value()), (std::vector<float>{4, 5}));
  EXPECT_EQ(as_vector(minibatch_range(x, 0, 4).value()), as_vector(x.value()));
  EXPECT_EQ(graph.size(), nodes);
  graph.backward(dot_product(sum_batches(middle), input(graph, {1, 2}, std::vector<float>{3, 5})),
                 true);
  EXPECT_EQ(as_vector(x.gradient()), (std::vector<float>{0, 0, 3, 5, 3, 5, 0, 0}));
}

TEST(MinibatchRangeTest, Errors) {
  ComputationGraph graph;
  const Expression x = zeros(graph, Dim({2}, 4));
  EXPECT_THROW(minibatch_range(x, 1, 4), UsageError);
  EXPECT_THROW(minibatch_range(x, 4, 1), UsageError);
  EXPECT_THROW(minibatch_range(x, 0, 0), UsageError);
  EXPECT_THROW(minibatch_range(x, 1, 5), UsageError);
}

}  // namespace
}  // namespace dynet_like::nn
