// Values that are forgotten, one by one, of nodes that ran as cells: what shares a call or a block
// of memory with them stays.
#include <gtest/gtest.h>

#include "tests/support/random_cells.h"
#include "tests/support/same_bits.h"

namespace dynet_like::testing {
namespace {

std::vector<float> numbers_of(const Expression& e) {
  std::vector<float> numbers;
  append(numbers, e.value());
  return numbers;
}

RandomGraph record(ComputationGraph& graph, const RandomModel& model, unsigned program) {
  RandomCellsOptions cells;
  cells.cells = 1 + program % 3;
  cells.calls = 6;
  cells.noise = cells.dropout = false;
  cells.regular = true;
  return record_random_cells(graph, model, program, 1000 + program, cells);
}

TEST(CellsForgotten, OtherValuesStay) {
  const RandomModel model;
  std::uint64_t in_cells = 0;
  for (unsigned program = 0; program < 40 && !HasFailure(); ++program) {
    GraphOptions options;
    options.cells_after = 0;
    ComputationGraph plain(options);
    std::vector<std::vector<float>> expected;
    for (const Expression& e : record(plain, model, program).all) expected.push_back(numbers_of(e));

    options.cells_after = 16;
    options.inference = true;
    ComputationGraph graph(options);
    values_of(record(graph, model, program).all);
    graph.clear();  // from here on there are cells
    const std::vector<Expression> all = record(graph, model, program).all;
    values_of(all);
    in_cells += graph.explain().nodes_in_cells;
    Random random(program);
    for (unsigned i = 0; i < 40; ++i) {
      const auto nodes = static_cast<unsigned>(graph.size());
      const unsigned first = random.below(nodes);
      graph.forget_values(first, first + 1 + random.below(random.below(4) == 0 ? 10 : 2));
      // Something new takes the memory that is free.
      const auto size = 4 * (1 + random.below(6));
      exp(input(graph, {size}, std::vector<float>(size, 1.0f))).value();
      for (unsigned k = 0; k < 4; ++k) {
        const unsigned place = random.below(static_cast<unsigned>(all.size()));
        ASSERT_TRUE(same(numbers_of(all[place]), expected[place]))
            << "program " << program << ", round " << i << ", value " << place;
      }
    }
  }
  EXPECT_GT(in_cells, 200u);
}

}  // namespace
}  // namespace dynet_like::testing
