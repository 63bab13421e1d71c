// Parameters whose memory was handed out and is written to at any time: every run reads what is
// there now, packed or not, in either direction.
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using Doubles = std::vector<double>;

class WrittenParametersTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(WrittenParametersTest, AreReadAsTheyAre) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "memory of a device is written by copies";
  Random random(GetParam());
  ParameterCollection model;
  const unsigned rows = 1 + random.below(70), columns = 1 + random.below(70);
  const Parameter w = model.add_parameters({rows, columns});
  float* const memory = w.values().v;
  ComputationGraph graph;
  bool is_mixed = false;  // the graph has values from before and after a change
  for (int run = 0; run < 12; ++run) {
    if (random.below(3) == 0) {
      graph.clear();
      is_mixed = false;
    }
    if (random.below(2) == 0) {
      is_mixed = graph.size() > 0;
      memory[random.below(rows * columns)] += 1;
      memory[random.below(rows * columns)] -= 2;
    }
    const unsigned n = 1 + random.below(random.below(2) == 0 ? 3 : 60);
    std::vector<float> values(columns * n);
    for (float& value : values) value = static_cast<float>(random.normal());
    const Expression x = input(graph, Dim({columns}, n), values);
    const Expression y = parameter(graph, w) * x;
    const std::vector<float> got = as_vector(y.value());
    const Expression loss = sum_batches(sum_elems(y));
    std::vector<float> gradient;
    if (is_mixed) {
      EXPECT_THROW(graph.backward(loss), StateError);
    } else {
      graph.backward(loss, true);
      gradient = as_vector(x.gradient());
    }
    for (unsigned i = 0; i < n; ++i) {
      for (unsigned r = 0; r < rows; ++r) {
        double sum = 0;
        for (unsigned c = 0; c < columns; ++c) {
          sum += double{memory[r + rows * c]} * double{values[columns * i + c]};
        }
        ASSERT_NEAR(got[rows * i + r], sum, 1e-4) << "run " << run;
      }
      for (unsigned c = 0; c < columns && !is_mixed; ++c) {
        double sum = 0;
        for (unsigned r = 0; r < rows; ++r) sum += double{memory[r + rows * c]};
        ASSERT_NEAR(gradient[columns * i + c], sum, 1e-4) << "run " << run;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, WrittenParametersTest, ::testing::Range(0u, 12u));

}  // namespace
}  // namespace dynet_like
