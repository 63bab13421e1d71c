// What explain() advises: each sentence is provoked by a small program, and a program that follows
// it runs in as few batches as if all samples were alike.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"

namespace dynet_like {
namespace {

constexpr unsigned kFewest = 5, kMost = 9;

// One sample; `n`, from kFewest to kMost, is what differs.
using Record = std::function<Expression(ComputationGraph& graph, unsigned n)>;

Report run(const Record& record, bool alike = false) {
  Random random(1);
  GraphOptions options;
  options.random = &random;
  options.cells_after = 0;
  Minibatch batch(options);
  for (unsigned n = kFewest; n <= kMost; ++n) {
    batch.add_output(record(batch.new_graph(), alike ? kMost : n));
  }
  batch.forward();
  return batch.explain();
}

std::string text_of(const Report& report) {
  std::ostringstream text;
  text << report;
  return text.str();
}

// Without constants, which run once for all samples.
std::uint64_t batches(const Report& report) {
  std::uint64_t batches = 0;
  for (const Report::Type& type : report.types) {
    if (type.op != "constant") batches += type.batches;
  }
  return batches;
}

Expression numbers(ComputationGraph& graph, const Dim& dim) {
  std::vector<float> values(dim.size());
  std::iota(values.begin(), values.end(), 1.0f);
  return input(graph, dim, values);
}

/// A program, what it is told, and how it is written then.
struct Case {
  std::string name, advice;
  Record split, together;
};

void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }

class AdviceTest : public ::testing::TestWithParam<Case> {};

TEST_P(AdviceTest, IsGivenAndTrue) {
  const Report report = run(GetParam().split);
  EXPECT_NE(text_of(report).find("advice: " + GetParam().advice + '\n'), std::string::npos)
      << report;
  EXPECT_TRUE(run(GetParam().split, true).near_misses.empty());
  EXPECT_GT(batches(report), batches(run(GetParam().split, true)));
  const Report followed = run(GetParam().together);
  EXPECT_EQ(batches(followed), batches(run(GetParam().together, true))) << followed;
  EXPECT_TRUE(followed.near_misses.empty()) << followed;
  EXPECT_TRUE(followed.advice.empty()) << followed;
}

ParameterCollection& model() {
  static ParameterCollection model;
  return model;
}
const LookupParameter& words() {
  static const LookupParameter table = model().add_lookup_parameters(10, {16});
  return table;
}
Expression weights(ComputationGraph& graph, unsigned i) {
  static const Parameter all[] = {model().add_parameters({4}), model().add_parameters({4, 4}),
                                  model().add_parameters({4, 4})};
  return parameter(graph, all[i]);
}
std::vector<unsigned> places(unsigned n) {
  std::vector<unsigned> all(n);
  std::iota(all.begin(), all.end(), 0);
  return all;
}
Expression columns(const Expression& x) {
  return reshape(x, Dim({x.dim().rows()}, x.dim().cols()));
}

std::vector<Case> lengths() {
  return {
      {"softmax",
       "5 lengths (5 to 9) split softmax: segment_softmax(x, {n}, 0) takes any length; so does "
       "attention(q, k, v), which takes the products with keys and values, too",
       [](auto& graph, unsigned n) { return softmax(numbers(graph, {n})); },
       [](auto& graph, unsigned n) { return segment_softmax(numbers(graph, {n}), {n}, 0); }},
      {"softmax_of_rows",
       "5 lengths (5 to 9) split softmax: segment_softmax(x, {n}, 1) takes any length; so does "
       "attention(q, k, v), which takes the products with keys and values, too",
       [](auto& graph, unsigned n) {
         return softmax(numbers(graph, {4, n}), 1);
       },
       [](auto& graph, unsigned n) {
         return segment_softmax(numbers(graph, {4, n}), {n}, 1);
       }},
      {"attention",
       "10 shapes split matrix_product: attention(q, k, v) takes any numbers of queries and keys",
       [](auto& graph, unsigned n) {
         const Expression keys = numbers(graph, {4, n}), query = numbers(graph, {4});
         return keys * softmax(transpose(keys) * query);
       },
       [](auto& graph, unsigned n) {
         const Expression keys = numbers(graph, {4, n}), query = numbers(graph, {4});
         return attention(query, keys, keys);
       }},
      {"weighted_keys",
       "5 lengths (5 to 9) split matrix_product: attention(q, k, v) takes any number of keys",
       [](auto& graph, unsigned n) {
         return numbers(graph, {4, n}) * numbers(graph, {n});
       },
       [](auto& graph, unsigned n) {
         const Expression keys = numbers(graph, {4, n});
         return attention(numbers(graph, {4}), keys, keys);
       }},
      {"log_softmax",
       "5 lengths (5 to 9) split log_softmax: log(reshape(segment_softmax(x, {n}, 0), "
       "Dim({1}, n))) takes any length",
       [](auto& graph, unsigned n) { return log_softmax(numbers(graph, {n})); },
       [](auto& graph, unsigned n) {
         return log(reshape(segment_softmax(numbers(graph, {n}), {n}, 0), Dim({1}, n)));
       }},
      {"sum_dim",
       "5 lengths (5 to 9) split sum_dim: segment_sum(x, {n}, 1) takes any length; for "
       "sum_elems(x), of reshape(x, {1, n})",
       [](auto& graph, unsigned n) {
         return sum_dim(numbers(graph, {4, n}), {1});
       },
       [](auto& graph, unsigned n) {
         return segment_sum(numbers(graph, {4, n}), {n}, 1);
       }},
      {"sum_elems",
       "5 lengths (20 to 36) split sum_dim: segment_sum(x, {n}, 0) takes any length; for "
       "sum_elems(x), of reshape(x, {1, n})",
       [](auto& graph, unsigned n) {
         return sum_elems(numbers(graph, {4, n}));
       },
       [](auto& graph, unsigned n) {
         return segment_sum(reshape(numbers(graph, {4, n}), {1, 4 * n}), {4 * n});
       }},
      {"mean_dim",
       "5 lengths (5 to 9) split mean_dim: segment_mean(x, {n}, 1) takes any length; for "
       "mean_elems(x), of reshape(x, {1, n})",
       [](auto& graph, unsigned n) {
         return average_cols(numbers(graph, {16, n}));
       },
       [](auto& graph, unsigned n) {
         return segment_mean(numbers(graph, {16, n}), {n}, 1);
       }},
      {"max_dim", "5 lengths (5 to 9) split max_dim: segment_max(x, {n}, 1) takes any length",
       [](auto& graph, unsigned n) {
         return max_dim(numbers(graph, {16, n}), 1);
       },
       [](auto& graph, unsigned n) {
         return segment_max(numbers(graph, {16, n}), {n}, 1);
       }},
      {"elements",
       "5 lengths (5 to 9) split tanh and dropout: reshape(x, Dim({1}, n)) makes minibatch "
       "elements of the elements, and takes any number",
       [](auto& graph, unsigned n) { return dropout(tanh(numbers(graph, {n})), 0.5f); },
       [](auto& graph, unsigned n) {
         return dropout(tanh(reshape(numbers(graph, {n}), Dim({1}, n))), 0.5f);
       }},
      {"other_lengths",
       "5 lengths (5 to 9) split cumsum: fill up to a few lengths, such as multiples of 8, if the "
       "model can tell what is filled in",
       [](auto& graph, unsigned n) { return cumsum(numbers(graph, {n}), 0); },
       [](auto& graph, unsigned) { return cumsum(numbers(graph, {16}), 0); }},
  };
}

std::vector<Case> shapes() {
  return {
      {"few_rows",
       "5 numbers of columns (5 to 9) split tanh and softmax: reshape(x, Dim({3}, n)) makes "
       "minibatch elements of columns, and takes any number",
       [](auto& graph, unsigned n) {
         return softmax(tanh(numbers(graph, {3, n})));
       },
       [](auto& graph, unsigned n) {
         return softmax(tanh(columns(numbers(graph, {3, n}))));
       }},
      {"matrices_of_samples",
       "5 numbers of columns (5 to 9) split matrix_product: reshape(x, Dim({16}, n)) makes "
       "minibatch elements of columns, and takes any number",
       [](auto& graph, unsigned n) {
         return numbers(graph, {16, 16}) * numbers(graph, {16, n});
       },
       [](auto& graph, unsigned n) {
         return numbers(graph, {16, 16}) * columns(numbers(graph, {16, n}));
       }},
      {"rows",
       "5 shapes split tanh: let what differs be the last dimension: matrices of any number of "
       "columns, of 8 rows or more, are one type",
       [](auto& graph, unsigned n) {
         return tanh(numbers(graph, {n, 16}));
       },
       [](auto& graph, unsigned n) {
         return tanh(numbers(graph, {16, n}));
       }},
      {"random_numbers",
       "5 shapes split random_normal: draw minibatch elements, random_normal(graph, Dim({size}, "
       "n), ...), and reshape them",
       [](auto& graph, unsigned n) {
         return random_normal(graph, {16, n});
       },
       [](auto& graph, unsigned n) {
         return reshape(random_normal(graph, Dim({16}, n)), {16, n});
       }},
      {"other_shapes",
       "5 shapes split logdet: fill up to a few shapes, such as multiples of 8, if the model can "
       "tell what is filled in",
       [](auto& graph, unsigned n) {
         return logdet(numbers(graph, {n, n}));
       },
       [](auto& graph, unsigned) {
         return logdet(numbers(graph, {16, 16}));
       }},
  };
}

std::vector<Case> what_is_given() {
  return {
      {"columns_one_by_one",
       "5 numbers of inputs (5 to 9) split concatenate: what is done to every column needs no "
       "matrix, do it to each expression; rows of a table are a matrix without it, "
       "reshape(lookup(graph, table, rows), {size, n})",
       [](auto& graph, unsigned n) {
         std::vector<Expression> all;
         for (unsigned i = 0; i < n; ++i) all.push_back(lookup(graph, words(), i));
         return concatenate_cols(all);
       },
       [](auto& graph, unsigned n) {
         return reshape(lookup(graph, words(), places(n)), {16, n});
       }},
      {"columns_of_states",
       "5 numbers of inputs (5 to 9) split concatenate: what is done to every column needs no "
       "matrix, do it to each expression; rows of a table are a matrix without it, "
       "reshape(lookup(graph, table, rows), {size, n})",
       [](auto& graph, unsigned n) {
         std::vector<Expression> all;
         for (unsigned i = 0; i < n; ++i) all.push_back(numbers(graph, {4}));
         return weights(graph, 1) * concatenate_cols(all);
       },
       [](auto& graph, unsigned n) {
         Expression state;
         for (unsigned i = 0; i < n; ++i) state = weights(graph, 1) * numbers(graph, {4});
         return state;
       }},
      {"addends",
       "3 numbers of inputs (2 to 4) split sum: add zeros(graph, dim) until each has 4 inputs",
       [](auto& graph, unsigned n) {
         return sum(std::vector<Expression>(2 + n % 3, numbers(graph, {4})));
       },
       [](auto& graph, unsigned n) {
         std::vector<Expression> all(2 + n % 3, numbers(graph, {4}));
         all.resize(4, zeros(graph, {4}));
         return sum(all);
       }},
      {"terms",
       "2 numbers of inputs (3 to 5) split affine_transform: let each have 5 inputs: a term that "
       "is missing is its weights times zeros(graph, dim)",
       [](auto& graph, unsigned n) {
         const Expression x = numbers(graph, {4}), b = weights(graph, 0), w = weights(graph, 1);
         if (n % 2 == 0) return affine_transform({b, w, x});
         return affine_transform({b, w, x, weights(graph, 2), numbers(graph, {4})});
       },
       [](auto& graph, unsigned n) {
         const Expression x = numbers(graph, {4}), b = weights(graph, 0), w = weights(graph, 1);
         const Expression h = n % 2 == 0 ? zeros(graph, {4}) : numbers(graph, {4});
         return affine_transform({b, w, x, weights(graph, 2), h});
       }},
      {"ranges",
       "5 sets of arguments split pick_range: a range of the last dimension is no node: take it of "
       "transpose(x)",
       [](auto& graph, unsigned n) {
         return pick_range(numbers(graph, {12, 4}), 1, n);
       },
       [](auto& graph, unsigned n) {
         return pick_range(transpose(numbers(graph, {12, 4})), 1, n, 1);
       }},
      {"places",
       "5 sets of arguments split select: gather(x, places, d) takes any number of places if d is "
       "the last of two dimensions: of transpose(x), or of a vector as reshape(x, {1, n})",
       [](auto& graph, unsigned n) { return gather(numbers(graph, {12}), places(n)); },
       [](auto& graph, unsigned n) {
         return gather(reshape(numbers(graph, {12}), {1, 12}), places(n), 1);
       }},
      {"places_of_rows",
       "5 sets of arguments split select: gather(x, places, d) takes any number of places if d is "
       "the last of two dimensions: of transpose(x), or of a vector as reshape(x, {1, n})",
       [](auto& graph, unsigned n) {
         return select_rows(numbers(graph, {12, 3}), places(n));
       },
       [](auto& graph, unsigned n) {
         return gather(transpose(numbers(graph, {12, 3})), places(n), 1);
       }},
      {"other_arguments",
       "5 sets of arguments split kmax_pooling: give all the same arguments, if that can be",
       [](auto& graph, unsigned n) { return kmax_pooling(numbers(graph, {12}), n, 0); },
       [](auto& graph, unsigned) { return kmax_pooling(numbers(graph, {12}), 3, 0); }},
      {"other_numbers_of_inputs",
       "3 numbers of inputs (2 to 4) split average: give all the same number of inputs, if that "
       "can be",
       [](auto& graph, unsigned n) {
         return average(std::vector<Expression>(2 + n % 3, numbers(graph, {4})));
       },
       [](auto& graph, unsigned) {
         return average(std::vector<Expression>(4, numbers(graph, {4})));
       }},
      {"constants",
       "5 constants split matrix_product: input(graph, dim, values) in place of constant(graph, "
       "dim, value) makes the numbers data",
       [](auto& graph, unsigned n) {
         return constant(graph, {4, 4}, static_cast<float>(n)) * numbers(graph, {4});
       },
       [](auto& graph, unsigned n) {
         const std::vector<float> values(16, static_cast<float>(n));
         return input(graph, {4, 4}, values) * numbers(graph, {4});
       }},
  };
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Lengths, AdviceTest, ::testing::ValuesIn(lengths()), name_of);
INSTANTIATE_TEST_SUITE_P(Shapes, AdviceTest, ::testing::ValuesIn(shapes()), name_of);
INSTANTIATE_TEST_SUITE_P(Given, AdviceTest, ::testing::ValuesIn(what_is_given()), name_of);

// ----------------------------------------------------------------------------- what it leaves out

bool is_silent(const Record& record) {
  const Report report = run(record);
  return report.near_misses.empty() && report.advice.empty();
}

TEST(NoAdviceTest, OfWhatNothingBringsTogether) {
  static const Parameter of_sizes[] = {model().add_parameters({4, 4}),
                                       model().add_parameters({4, 4}),
                                       model().add_parameters({8, 4})};
  static const LookupParameter other = model().add_lookup_parameters(10, {16});
  EXPECT_TRUE(is_silent([](auto& graph, unsigned n) {  // parameters
    return parameter(graph, of_sizes[n % 3]) * numbers(graph, {4});
  }));
  EXPECT_TRUE(is_silent([](auto& graph, unsigned n) {  // tables
    return lookup(graph, n % 2 == 0 ? words() : other, 1u);
  }));
  EXPECT_TRUE(is_silent([](auto& graph, unsigned n) {  // ops
    return n % 2 == 0 ? tanh(numbers(graph, {4})) : exp(numbers(graph, {4}));
  }));
  EXPECT_TRUE(is_silent([](auto& graph, unsigned) {  // sizes of a model
    return concatenate({tanh(numbers(graph, {4})), tanh(numbers(graph, {8}))});
  }));
}

TEST(NoAdviceTest, OfNumbersThatAreData) {
  EXPECT_TRUE(is_silent([](auto& graph, unsigned n) {
    const Expression x = numbers(graph, {4}) * (1.0f / static_cast<float>(n));
    const Expression y =
        dropout(leaky_relu(x, 0.1f * static_cast<float>(n)), 0.1f * static_cast<float>(n));
    return pick(y + static_cast<float>(n), n % 4) + hinge(x, n % 4, static_cast<float>(n));
  }));
}

// Two of them would wait for each other: one type would not run in fewer batches.
TEST(NoAdviceTest, OfWhatRunsOneAfterTheOther) {
  EXPECT_TRUE(is_silent([](auto& graph, unsigned n) {
    Expression x = tanh(numbers(graph, {4}));
    if (n == kMost) x = tanh(concatenate({x, tanh(concatenate({x, x}))}));
    return x;
  }));
}

// Sizes of a model are more likely than lengths there.
TEST(NoAdviceTest, OfTwoSizesInOneGraph) {
  const auto silent = [](unsigned sizes) {
    ComputationGraph graph;
    std::vector<Expression> all;
    for (unsigned n = 1; n <= sizes; ++n) all.push_back(tanh(numbers(graph, {n})));
    concatenate(all).value();
    return graph.explain().advice.empty();
  };
  EXPECT_TRUE(silent(2));
  EXPECT_FALSE(silent(3));
}

TEST(NearMissTest, CountsNodesAndBatches) {
  const Report report = run([](auto& graph, unsigned i) {
    const unsigned n = kFewest + kMost - i;
    return softmax(numbers(graph, {n})) + softmax(numbers(graph, {n}));
  });
  ASSERT_EQ(report.near_misses.size(), 2u);  // + too
  const Report::NearMiss& miss = report.near_misses[0];
  EXPECT_EQ(miss.op, "softmax");
  EXPECT_EQ(miss.types, 5u);
  EXPECT_EQ(miss.nodes, 10u);
  EXPECT_EQ(miss.batches, 5u);
  EXPECT_EQ(miss.lost, 4u);
  EXPECT_EQ(miss.difference, "input 0 is {5}, {6}, {7}, {8} or {9}");
  EXPECT_NE(text_of(report).find(
                "not together: 10 nodes softmax of 5 types in 5 batches, up to 4 more than of one "
                "type: input 0 is {5}, {6}, {7}, {8} or {9}\n"),
            std::string::npos)
      << report;
}

}  // namespace
}  // namespace dynet_like
