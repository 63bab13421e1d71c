// What explain() advises: each sentence is provoked by a small program, and a program that follows
// it runs in as few batches as if all samples were alike.
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

constexpr unsigned kFewest = 5, kMost = 9;

// One sample; `n`, from kFewest to kMost, is what differs.
using Record = std::function<Expression(ComputationGraph& graph, unsigned n)>;

Report run(const Record& record, bool alike = false) {
  Minibatch batch({.seed = 1});
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

const Report::MissedMerge* row_of(const Report& report, const std::string& op) {
  const auto row = std::ranges::find(report.missed_merges, op, &Report::MissedMerge::op);
  return row == report.missed_merges.end() ? nullptr : &*row;
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

/// A program, what it is told of which ops, and how it is written then.
struct Case {
  std::string name, field, op, advice;
  Record split, together;
};

void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }

class AdviceTest : public ::testing::TestWithParam<Case> {};

TEST_P(AdviceTest, IsGivenAndTrue) {
  const Report report = run(GetParam().split);
  const Report::MissedMerge* const row = row_of(report, GetParam().op);
  ASSERT_NE(row, nullptr) << report;
  EXPECT_EQ(row->field, GetParam().field) << report;
  EXPECT_EQ(row->advice, GetParam().advice) << report;
  EXPECT_TRUE(mentions(text_of(report), "  instead: " + GetParam().advice + '\n'));
  EXPECT_TRUE(run(GetParam().split, true).missed_merges.empty());
  EXPECT_GT(batches(report), batches(run(GetParam().split, true)));
  const Report followed = run(GetParam().together);
  EXPECT_EQ(batches(followed), batches(run(GetParam().together, true))) << followed;
  EXPECT_TRUE(followed.missed_merges.empty()) << followed;
}

ParameterCollection& model() {
  static ParameterCollection model;
  return model;
}
const LookupParameter& words() {
  static const LookupParameter table = model().add_lookup_parameters(10, {16});
  return table;
}
const LookupParameter& more_words() {
  static const LookupParameter table = model().add_lookup_parameters(10, {16});
  return table;
}
const LookupParameter& matrices() {
  static const LookupParameter table = model().add_lookup_parameters(2, {4, 4});
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

using G = ComputationGraph&;
Expression vec(G graph, unsigned n) { return numbers(graph, {n}); }
Expression matrix(G graph, unsigned rows, unsigned cols) { return numbers(graph, {rows, cols}); }

std::vector<Case> lengths() {
  return {
      {"softmax", "length", "softmax",
       "segment_softmax(x, {n}, 0) takes any length; so does attention(q, k, v), which takes the "
       "products with keys and values, too",
       [](G g, unsigned n) { return softmax(vec(g, n)); },
       [](G g, unsigned n) { return segment_softmax(vec(g, n), {n}, 0); }},
      {"softmax_of_rows", "length", "softmax",
       "segment_softmax(x, {n}, 1) takes any length; so does attention(q, k, v), which takes the "
       "products with keys and values, too",
       [](G g, unsigned n) { return softmax(matrix(g, 4, n), 1); },
       [](G g, unsigned n) { return segment_softmax(matrix(g, 4, n), {n}, 1); }},
      {"attention", "shape", "matrix_product",
       "attention(q, k, v) takes any numbers of queries and keys",
       [](G g, unsigned n) {
         const Expression keys = matrix(g, 4, n), query = vec(g, 4);
         return keys * softmax(transpose(keys) * query);
       },
       [](G g, unsigned n) {
         const Expression keys = matrix(g, 4, n), query = vec(g, 4);
         return attention(query, keys, keys);
       }},
      {"weighted_keys", "length", "matrix_product", "attention(q, k, v) takes any number of keys",
       [](G g, unsigned n) { return matrix(g, 4, n) * vec(g, n); },
       [](G g, unsigned n) {
         const Expression keys = matrix(g, 4, n);
         return attention(vec(g, 4), keys, keys);
       }},
      {"log_softmax", "length", "log_softmax",
       "log(reshape(segment_softmax(x, {n}, 0), Dim({1}, n))) takes any length",
       [](G g, unsigned n) { return log_softmax(vec(g, n)); },
       [](G g, unsigned n) {
         return log(reshape(segment_softmax(vec(g, n), {n}, 0), Dim({1}, n)));
       }},
      {"sum_dim", "length", "sum_dim",
       "segment_sum(x, {n}, 1) takes any length; for sum_elems(x), of reshape(x, {1, n})",
       [](G g, unsigned n) { return sum_dim(matrix(g, 4, n), {1}); },
       [](G g, unsigned n) { return segment_sum(matrix(g, 4, n), {n}, 1); }},
      {"sum_elems", "length", "sum_dim",
       "segment_sum(x, {n}, 0) takes any length; for sum_elems(x), of reshape(x, {1, n})",
       [](G g, unsigned n) { return sum_elems(matrix(g, 4, n)); },
       [](G g, unsigned n) {
         return segment_sum(reshape(matrix(g, 4, n), {1, 4 * n}), {4 * n});
       }},
      {"mean_dim", "length", "mean_dim",
       "segment_mean(x, {n}, 1) takes any length; for mean_elems(x), of reshape(x, {1, n})",
       [](G g, unsigned n) { return average_cols(matrix(g, 16, n)); },
       [](G g, unsigned n) { return segment_mean(matrix(g, 16, n), {n}, 1); }},
      {"max_dim", "length", "max_dim", "segment_max(x, {n}, 1) takes any length",
       [](G g, unsigned n) { return max_dim(matrix(g, 16, n), 1); },
       [](G g, unsigned n) { return segment_max(matrix(g, 16, n), {n}, 1); }},
      {"elements", "length", "tanh",
       "reshape(x, Dim({1}, n)) makes minibatch elements of the elements, and takes any number",
       [](G g, unsigned n) { return dropout(tanh(vec(g, n)), 0.5f); },
       [](G g, unsigned n) { return dropout(tanh(reshape(vec(g, n), Dim({1}, n))), 0.5f); }},
      {"other_lengths", "length", "cumsum",
       "pad to a few lengths, such as multiples of 8, if the model can tell the padding",
       [](G g, unsigned n) { return cumsum(vec(g, n), 0); },
       [](G g, unsigned) { return cumsum(vec(g, 16), 0); }},
  };
}

std::vector<Case> shapes() {
  return {
      {"few_rows", "columns", "tanh",
       "reshape(x, Dim({3}, n)) makes minibatch elements of columns, and takes any number",
       [](G g, unsigned n) { return softmax(tanh(matrix(g, 3, n))); },
       [](G g, unsigned n) { return softmax(tanh(columns(matrix(g, 3, n)))); }},
      {"matrices_of_samples", "columns", "matrix_product",
       "reshape(x, Dim({16}, n)) makes minibatch elements of columns, and takes any number",
       [](G g, unsigned n) { return matrix(g, 16, 16) * matrix(g, 16, n); },
       [](G g, unsigned n) { return matrix(g, 16, 16) * columns(matrix(g, 16, n)); }},
      {"rows", "shape", "tanh",
       "let what differs be the last dimension: matrices of any number of columns, of 8 rows or "
       "more, are one type",
       [](G g, unsigned n) { return tanh(matrix(g, n, 16)); },
       [](G g, unsigned n) { return tanh(matrix(g, 16, n)); }},
      {"random_numbers", "shape", "random_normal",
       "draw minibatch elements, random_normal(graph, Dim({size}, n), ...), and reshape them",
       [](G g, unsigned n) {
         return random_normal(g, {16, n});
       },
       [](G g, unsigned n) {
         return reshape(random_normal(g, Dim({16}, n)), {16, n});
       }},
      {"other_shapes", "shape", "logdet",
       "pad to a few shapes, such as multiples of 8, if the model can tell the padding",
       [](G g, unsigned n) { return logdet(matrix(g, n, n)); },
       [](G g, unsigned) { return logdet(matrix(g, 16, 16)); }},
  };
}

std::vector<Case> what_is_given() {
  return {
      {"columns_one_by_one", "inputs", "concatenate",
       "do to each expression what you do to every column, without a matrix; for rows of a table, "
       "reshape(lookup(graph, table, rows), {size, n}) is the matrix",
       [](G g, unsigned n) {
         std::vector<Expression> all;
         for (unsigned i = 0; i < n; ++i) all.push_back(lookup(g, words(), i));
         return concatenate_cols(all);
       },
       [](G g, unsigned n) {
         return reshape(lookup(g, words(), places(n)), {16, n});
       }},
      {"columns_of_states", "inputs", "concatenate",
       "do to each expression what you do to every column, without a matrix; for rows of a table, "
       "reshape(lookup(graph, table, rows), {size, n}) is the matrix",
       [](G g, unsigned n) {
         std::vector<Expression> all;
         for (unsigned i = 0; i < n; ++i) all.push_back(vec(g, 4));
         return weights(g, 1) * concatenate_cols(all);
       },
       [](G g, unsigned n) {
         Expression state;
         for (unsigned i = 0; i < n; ++i) state = weights(g, 1) * vec(g, 4);
         return state;
       }},
      {"addends", "inputs", "sum", "add zeros(graph, dim) until each has 4 inputs",
       [](G g, unsigned n) { return sum(std::vector<Expression>(2 + n % 3, vec(g, 4))); },
       [](G g, unsigned n) {
         std::vector<Expression> all(2 + n % 3, vec(g, 4));
         all.resize(4, zeros(g, {4}));
         return sum(all);
       }},
      {"terms", "inputs", "affine_transform",
       "give each 5 inputs: for a missing term, take its weights and zeros(graph, dim)",
       [](G g, unsigned n) {
         const Expression x = vec(g, 4), b = weights(g, 0), w = weights(g, 1);
         if (n % 2 == 0) return affine_transform({b, w, x});
         return affine_transform({b, w, x, weights(g, 2), vec(g, 4)});
       },
       [](G g, unsigned n) {
         const Expression x = vec(g, 4), b = weights(g, 0), w = weights(g, 1);
         const Expression h = n % 2 == 0 ? zeros(g, {4}) : vec(g, 4);
         return affine_transform({b, w, x, weights(g, 2), h});
       }},
      {"ranges", "arguments", "pick_range",
       "a range of the last dimension needs no node: take the range from transpose(x)",
       [](G g, unsigned n) { return pick_range(matrix(g, 12, 4), 1, n); },
       [](G g, unsigned n) { return pick_range(transpose(matrix(g, 12, 4)), 1, n, 1); }},
      {"places", "arguments", "select",
       "gather(x, places, d) takes any number of places if d is the last of two dimensions: of "
       "transpose(x), or of a vector as reshape(x, {1, n})",
       [](G g, unsigned n) { return gather(vec(g, 12), places(n)); },
       [](G g, unsigned n) {
         return gather(reshape(vec(g, 12), {1, 12}), places(n), 1);
       }},
      {"places_of_rows", "arguments", "select",
       "gather(x, places, d) takes any number of places if d is the last of two dimensions: of "
       "transpose(x), or of a vector as reshape(x, {1, n})",
       [](G g, unsigned n) { return select_rows(matrix(g, 12, 3), places(n)); },
       [](G g, unsigned n) { return gather(transpose(matrix(g, 12, 3)), places(n), 1); }},
      {"other_arguments", "arguments", "kmax_pooling", "give all the same arguments, if you can",
       [](G g, unsigned n) { return kmax_pooling(vec(g, 12), n, 0); },
       [](G g, unsigned) { return kmax_pooling(vec(g, 12), 3, 0); }},
      {"other_numbers_of_inputs", "inputs", "average",
       "give all the same number of inputs, if you can",
       [](G g, unsigned n) { return average(std::vector<Expression>(2 + n % 3, vec(g, 4))); },
       [](G g, unsigned) { return average(std::vector<Expression>(4, vec(g, 4))); }},
      {"parameters", "parameter", "matrix_product",
       "vectors and small matrices can be rows of a table, lookup(graph, table, i): nodes that "
       "read "
       "different rows share batches, and each has a copy",
       [](G g, unsigned n) { return weights(g, 1 + n % 2) * vec(g, 4); },
       [](G g, unsigned n) { return lookup(g, matrices(), n % 2) * vec(g, 4); }},
      {"tables", "parameter", "lookup",
       "one table with the rows of all: add to the row where its own rows begin",
       [](G g, unsigned n) { return lookup(g, n % 2 == 0 ? words() : more_words(), n % 4); },
       [](G g, unsigned n) { return lookup(g, words(), n % 4 + 5 * (n % 2)); }},
      {"constants", "constant", "matrix_product",
       "input(graph, dim, values) in place of constant(graph, dim, value) makes the numbers data",
       [](G g, unsigned n) {
         return constant(g, {4, 4}, static_cast<float>(n)) * vec(g, 4);
       },
       [](G g, unsigned n) {
         const std::vector<float> values(16, static_cast<float>(n));
         return input(g, {4, 4}, values) * vec(g, 4);
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
  return report.missed_merges.empty();
}

TEST(NoAdviceTest, OfWhatNothingBringsTogether) {
  static const Parameter of_sizes[] = {model().add_parameters({4, 4}),
                                       model().add_parameters({8, 4}),
                                       model().add_parameters({16, 4})};
  static const LookupParameter other = model().add_lookup_parameters(20, {16});
  EXPECT_TRUE(is_silent([](auto& graph, unsigned n) {  // parameters of several sizes
    return parameter(graph, of_sizes[n % 3]) * numbers(graph, {4});
  }));
  EXPECT_TRUE(is_silent([](auto& graph, unsigned n) {  // tables of several sizes
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
    return graph.explain().missed_merges.empty();
  };
  EXPECT_TRUE(silent(2));
  EXPECT_FALSE(silent(3));
}

}  // namespace
}  // namespace dynet_like
