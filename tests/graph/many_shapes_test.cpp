// More shapes than a graph remembers: what was known of them is forgotten between two programs.
#include <gtest/gtest.h>

#include <vector>

#include "dynet_like/dynet_like.h"

namespace dynet_like {
namespace {

constexpr unsigned kMost = 42;  // of its cube, some are too many to be kept

// All in another order every time, so that nothing that is known of numbers of shapes stays right.
template <class NewGraph>
void expect_own_shapes(const NewGraph& new_graph) {
  for (unsigned round = 0; round < 2; ++round) {
    ComputationGraph& graph = new_graph();
    const auto size = [&](unsigned i) { return round % 2 == 0 ? i : kMost + 1 - i; };
    for (unsigned a = 1; a <= kMost; ++a) {
      for (unsigned b = 1; b <= kMost; ++b) {
        for (unsigned c = 1; c <= kMost; ++c) {
          const Dim dim({size(a), size(b), size(c)}, 2);
          ASSERT_EQ(zeros(graph, dim).dim(), dim) << round;
        }
      }
    }
    const Expression x = zeros(graph, Dim({3, size(2)}, 2)) + 1.0f;
    ASSERT_EQ(as_vector(x.value()), std::vector<float>(6 * size(2), 1)) << round;
  }
}

TEST(ManyShapesTest, AreThoseOfTheirGraph) {
  ComputationGraph graph;
  expect_own_shapes([&]() -> ComputationGraph& {
    graph.clear();
    return graph;
  });
}

TEST(ManyShapesTest, AreThoseOfTheirMinibatch) {
  Minibatch batch;
  expect_own_shapes([&]() -> ComputationGraph& {
    batch.clear();
    return batch.new_graph();
  });
}

}  // namespace
}  // namespace dynet_like
