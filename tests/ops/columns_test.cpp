// Matrices whose columns are computed one by one. sentence_lengths_test.cpp counts their batches.
#include "tests/support/precompiled.h"
#include "tests/support/same_bits.h"

namespace dynet_like {
namespace {

class ColumnsTest : public ::testing::Test {
 protected:
  using Floats = std::vector<float>;
  static constexpr unsigned kRows = 12;

  Expression matrix(ComputationGraph& graph, unsigned columns, unsigned seed,
                    unsigned elements = 1) {
    Random random(seed);
    std::vector<float> numbers(std::size_t{kRows} * columns * elements);
    for (float& number : numbers) number = static_cast<float>(random.normal());
    return input(graph, Dim({kRows, columns}, elements), numbers);
  }
  ParameterCollection model{5};
  std::vector<Parameter> weights{model.add_parameters({kRows, kRows}),
                                 model.add_parameters({kRows, kRows})};
  Parameter bias = model.add_parameters({kRows});
};

// Column j of the matrix has the bits that it has alone, and so have gradients.
TEST_F(ColumnsTest, EachColumnIsAsIfItWereAlone) {
  constexpr unsigned kColumns = 5;
  const auto map = [&](const Expression& x) {
    const auto w = [&](unsigned i) { return parameter(*x.pg, weights[i]); };
    const Expression a = affine_transform({parameter(*x.pg, bias), w(0), x});
    return softmax(cmult(tanh(a), w(1) * x) + parameter(*x.pg, bias));
  };
  const auto numbers = [&](bool together) {
    ComputationGraph graph;
    const Expression x = matrix(graph, kColumns, 3);
    std::vector<Expression> columns;
    for (unsigned j = 0; j < kColumns; ++j) columns.push_back(pick(x, j, 1));
    std::vector<Expression> results;
    for (const Expression& column : columns) results.push_back(map(column));
    const Expression y = together ? map(x) : concatenate_cols(results);
    const Expression loss = dot_product(y, matrix(graph, kColumns, 4));
    std::vector<float> result;
    testing::append(result, y.value());
    const Gradients& gradients = graph.backward(loss, true);
    testing::append(result, x.gradient());
    for (const auto& storage : model.storages()) {
      for (const float number : gradients.all_values(*storage)) result.push_back(number);
    }
    return result;
  };
  const std::vector<float> together = numbers(true), apart = numbers(false);
  const std::size_t own = 2 * kRows * kColumns;
  EXPECT_TRUE(testing::same({together.begin(), together.begin() + own},
                            {apart.begin(), apart.begin() + own}));
  for (std::size_t i = own; i < together.size(); ++i) EXPECT_NEAR(together[i], apart[i], 1e-5f);
}

// Programs repeat themselves, so types that came last are tried first. That parameters stay whole
// is no reason for others to do so.
TEST_F(ColumnsTest, DoNotDependOnWhatWasRecordedBefore) {
  const Parameter whole = model.add_parameters({kRows, 7});
  const auto type_before = [](ComputationGraph& graph) { sin(tanh(input(graph, {5}, Floats(5)))); };
  const auto gradient = [&](bool behind_another) {
    Minibatch batch;
    if (behind_another) {
      ComputationGraph& graph = batch.new_graph();
      const Expression w = parameter(graph, whole), b = parameter(graph, bias);
      type_before(graph);
      batch.add_loss(sum_elems(w + b));
    }
    ComputationGraph& graph = batch.new_graph();
    const Expression x = matrix(graph, 7, 1), column = tanh(parameter(graph, bias) + pick(x, 0, 1));
    const Expression other = squared_norm(column);
    type_before(graph);
    batch.add_loss(other + sum_elems(sin(x + column)));
    batch.forward();
    batch.backward();
    return as_vector(column.gradient());
  };
  EXPECT_TRUE(testing::same(gradient(true), gradient(false)));
}

// Parts of a minibatch have gaps between its elements.
TEST_F(ColumnsTest, OfAMinibatchWithGapsHaveTheBitsOfItsElements) {
  constexpr unsigned kColumns = 6, kElements = 3;
  const auto map = [](const Expression& x) {
    const Expression first = pick_range(x, 0, 1, 1), row = pick(x, 1, 1);
    const Expression all = sin(x) + first;
    return cmult(all, row) + cmult(all, colwise_add(x, row)) +
           concatenate_cols({tanh(pick_range(x, 0, 4, 1)), pick_range(all, 4, kColumns, 1)});
  };
  ComputationGraph graph;
  const Expression whole = matrix(graph, kColumns, 1, kElements);
  const std::vector<float> numbers = as_vector(whole.value());
  const Expression all = map(whole);
  graph.backward(sum_batches(squared_norm(all)), true);
  for (unsigned element = 0; element < kElements; ++element) {
    ComputationGraph own;
    const auto from = numbers.begin() + element * kRows * kColumns;
    const Expression x = input(own, Dim({kRows, kColumns}), {from, from + kRows * kColumns});
    const Expression alone = map(x);
    own.backward(squared_norm(alone), true);
    const auto of_element = [&](const Tensor& tensor) {
      const std::vector<float> elements = as_vector(tensor);
      const auto begin = elements.begin() + element * kRows * kColumns;
      return std::vector<float>(begin, begin + kRows * kColumns);
    };
    EXPECT_TRUE(testing::same(of_element(all.value()), as_vector(alone.value())));
    EXPECT_TRUE(testing::same(of_element(whole.gradient()), as_vector(x.gradient())));
  }
}

// Parts of columns, and more columns than are searched for overlaps, all get their gradients.
TEST_F(ColumnsTest, GradientsOfParts) {
  for (const unsigned columns : {3u, 40u, 300u}) {
    ComputationGraph graph;
    const Expression x = tanh(matrix(graph, columns, columns));
    std::vector<Expression> parts;
    for (unsigned j = 0; j < columns; ++j)
      parts.push_back(pick(x, columns % 2 == 0 ? columns - 1 - j : j, 1));
    const Expression loss = sum_elems(sum(parts)) + sum_elems(pick_range(x, 1, 3, 1)) * 2;
    graph.backward(loss, true);
    const std::vector<float> gradient = as_vector(x.gradient());
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      EXPECT_EQ(gradient[i], i / kRows == 1 || i / kRows == 2 ? 3.0f : 1.0f);
    }
  }
}

}  // namespace
}  // namespace dynet_like
