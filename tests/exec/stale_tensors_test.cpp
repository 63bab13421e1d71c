// A tensor that a program keeps beyond the values it shows is found: with verify_batching and in
// debug builds it is NaN, and functions refuse it; the address sanitizer stops the program.
#include <bit>

#include "dynet_like/core/sanitizer.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

// Keeps the address from the optimiser, which may know what was there.
float read(const Tensor& tensor) {
  volatile const float* const first = tensor.v;
  return *first;
}

GraphOptions verifying() { return {.verify_batching = true}; }

#ifdef DYNET_LIKE_ASAN
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

void expect_found(const Tensor& tensor) {
  if constexpr (kAddressSanitizer) {
    EXPECT_DEATH(read(tensor), "use-after-poison");
  } else {
    EXPECT_TRUE(std::isnan(read(tensor)));
    EXPECT_THROW(as_vector(tensor), StateError);
    EXPECT_THROW(as_doubles(tensor), StateError);
    EXPECT_THROW(argmax(tensor), StateError);
    EXPECT_THROW(std::ostringstream() << tensor, StateError);
  }
}

class StaleTensorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!default_device()->is_cpu()) GTEST_SKIP() << "tensors of a device are copies";
  }
  Tensor value(ComputationGraph& graph) const {
    return tanh(parameter(graph, w_) * input(graph, {2}, {1, 2})).value();
  }

  ParameterCollection model_{1};
  Parameter w_ = model_.add_parameters({2, 2});
};

TEST_F(StaleTensorsTest, OfAGraph) {
  ComputationGraph graph(verifying());
  const Tensor kept = value(graph);
  EXPECT_FALSE(std::isnan(read(kept)));
  graph.clear();
  expect_found(kept);
}

TEST_F(StaleTensorsTest, OfAMinibatch) {
  Minibatch minibatch(verifying());
  const Tensor kept = value(minibatch.new_graph());
  value(minibatch.new_graph());
  EXPECT_FALSE(std::isnan(read(kept)));
  minibatch.clear();
  expect_found(kept);
}

TEST_F(StaleTensorsTest, ThatAReturnToACheckpointForgot) {
  ComputationGraph graph(verifying());
  const Tensor first = value(graph);
  graph.checkpoint();
  const Tensor second = value(graph);
  graph.revert();
  EXPECT_FALSE(std::isnan(read(first)));
  expect_found(second);
}

TEST_F(StaleTensorsTest, NewValuesAreWhole) {
  ComputationGraph graph(verifying());
  const std::vector<float> before = as_vector(value(graph));
  for (int i = 0; i < 3; ++i) {
    graph.clear();
    EXPECT_EQ(as_vector(value(graph)), before);
  }
}

// A NaN of a program's own is a number like any other.
TEST_F(StaleTensorsTest, OtherNaNsAreRead) {
  ComputationGraph graph(verifying());
  for (const float nan : {std::nanf(""), -std::nanf(""), std::nanf("1"), std::bit_cast<float>(~0u),
                          std::numeric_limits<float>::signaling_NaN()}) {
    const Expression x = input(graph, {1}, {nan});
    EXPECT_TRUE(std::isnan(as_scalar(x.value())));
    EXPECT_TRUE(std::isnan(as_scalar(sqrt(x - x).value())));
  }
  double ones = std::bit_cast<double>(~std::uint64_t{0});
  EXPECT_TRUE(std::isnan(Tensor(Dim({1}), &ones).at(0)));
}

TEST_F(StaleTensorsTest, OfDoubles) {
  GraphOptions options = verifying();
  options.dtype = DType::f64;
  ComputationGraph graph(options);
  const Tensor kept = tanh(input(graph, {3}, {1, 2, 3})).value();
  EXPECT_DOUBLE_EQ(as_doubles(kept)[1], std::tanh(2.0));
  graph.clear();
  if constexpr (kAddressSanitizer) return;
  for (std::size_t i = 0; i < 3; ++i) EXPECT_THROW(kept.at(i), StateError);
}

#ifndef NDEBUG
TEST_F(StaleTensorsTest, InDebugBuildsWithoutAsking) {
  ComputationGraph graph;
  const Tensor kept = value(graph);
  graph.clear();
  expect_found(kept);
}
#endif

}  // namespace
}  // namespace dynet_like
