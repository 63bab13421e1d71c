// The ops whose gradient is not their derivative: what it is instead.
#include "dynet_like/ops/op.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using Floats = std::vector<float>;
using Function = Expression (*)(const Expression&);

struct Expected {
  Function function;
  Floats values, gradient;  ///< of {-1.5, -0.4, 0.5, 2.5}, whose gradient is {1, 2, 3, 4}
};

constexpr GradientMode kThrough = GradientMode::straight_through_gradient;
constexpr GradientMode kZero = GradientMode::zero_gradient;

void expect(const Expected& expected) {
  ComputationGraph graph;
  const Expression x = input(graph, Dim({4}), Floats{-1.5f, -0.4f, 0.5f, 2.5f});
  const Expression y = expected.function(x);
  EXPECT_EQ(as_vector(y.value()), expected.values);
  const Expression loss = dot_product(y, input(graph, Dim({4}), Floats{1, 2, 3, 4}));
  graph.backward(loss, true);
  EXPECT_EQ(as_vector(x.gradient()), expected.gradient);
}

TEST(PseudoGradientTest, EveryOpThatHasOneIsHere) {
  const std::map<std::string_view, Expected> all = {
      {"round",
       {[](const Expression& x) { return round(x, kThrough); }, {-2, 0, 1, 3}, {1, 2, 3, 4}}},
      {"ceil",
       {[](const Expression& x) { return ceil(x, kThrough); }, {-1, 0, 1, 3}, {1, 2, 3, 4}}},
      {"floor",
       {[](const Expression& x) { return floor(x, kThrough); }, {-2, -1, 0, 2}, {1, 2, 3, 4}}},
      {"argmax",
       {[](const Expression& x) { return argmax(x, kThrough); }, {0, 0, 0, 1}, {1, 2, 3, 4}}},
      {"less", {[](const Expression& x) { return less(x, 0.5f); }, {1, 1, 0, 0}, {0, 0, 0, 0}}},
      {"less_equal",
       {[](const Expression& x) { return less_equal(x, 0.5f); }, {1, 1, 1, 0}, {0, 0, 0, 0}}},
      {"equal", {[](const Expression& x) { return equal(x, 0.5f); }, {0, 0, 1, 0}, {0, 0, 0, 0}}},
      {"scale_gradient",
       {[](const Expression& x) { return scale_gradient(x, 0.5f); },
        {-1.5f, -0.4f, 0.5f, 2.5f},
        {0.5f, 1, 1.5f, 2}}}};
  std::size_t count = 0;
  for (const Op* op : all_ops()) {
    if (op->gradient.is_derivative) continue;
    ++count;
    ASSERT_TRUE(all.contains(op->name)) << op->name;
    expect(all.at(op->name));
  }
  EXPECT_EQ(count, all.size());
}

TEST(PseudoGradientTest, GradientsAreStoppedOrNegated) {
  const Floats none(4, 0.0f);
  expect({[](const Expression& x) { return round(x, kZero); }, {-2, 0, 1, 3}, none});
  expect({[](const Expression& x) { return ceil(x, kZero); }, {-1, 0, 1, 3}, none});
  expect({[](const Expression& x) { return floor(x, kZero); }, {-2, -1, 0, 2}, none});
  expect({[](const Expression& x) { return argmax(x, kZero); }, {0, 0, 0, 1}, none});
  expect({nobackprop, {-1.5f, -0.4f, 0.5f, 2.5f}, none});
  expect({flip_gradient, {-1.5f, -0.4f, 0.5f, 2.5f}, {-1, -2, -3, -4}});
}

}  // namespace
}  // namespace dynet_like
