// Attention: of several queries, of keys that others read, and dropout of its
// weights. The tests of the op table compare single queries.
#include "dynet_like/train/gradient_check.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/same_bits.h"

namespace dynet_like {
namespace {

struct Sizes {
  const char* name;
  unsigned key_rows, value_rows, queries, keys;
  AttentionOptions options = {};
};

const Sizes kSizes[] = {{"one_key", 3, 2, 2, 1},
                        {"small", 4, 6, 3, 5, {.heads = 2}},
                        {"causal", 8, 8, 7, 7, {.heads = 4, .causal = true}},
                        {"fewer_keys", 2, 2, 5, 3, {.causal = true}},
                        {"long", 34, 17, 2, 71},
                        {"wide_causal", 18, 35, 6, 6, {.causal = true}},
                        {"local", 6, 4, 9, 9, {.heads = 2, .reach = 2}},
                        {"local_causal", 6, 4, 9, 9, {.heads = 2, .causal = true, .reach = 3}},
                        {"dropout", 6, 4, 9, 9, {.heads = 2, .dropout = 0.4f}},
                        {"local_dropout", 6, 4, 9, 9, {.heads = 2, .reach = 2, .dropout = 0.4f}}};

class AttentionSizesTest : public ::testing::TestWithParam<Sizes> {
 protected:
  const Sizes s = GetParam();
  ParameterCollection model{7, DType::f64};
  Parameter q = model.add_parameters({s.key_rows, s.queries}, ParameterInitNormal());
  Parameter k = model.add_parameters({s.key_rows, s.keys}, ParameterInitNormal());
  Parameter v = model.add_parameters({s.value_rows, s.keys}, ParameterInitNormal());
};

INSTANTIATE_TEST_SUITE_P(All, AttentionSizesTest, ::testing::ValuesIn(kSizes),
                         [](const auto& test) { return test.param.name; });

// Each as if it were alone with the keys that it may see.
TEST_P(AttentionSizesTest, QueriesSeeTheirKeys) {
  if (s.options.dropout > 0) return;
  ComputationGraph graph;
  const Expression y = attention(parameter(graph, q), k, v, s.options);
  const Expression weights = attention_weights(parameter(graph, q), k, s.options.heads);
  for (unsigned i = 0; i < s.queries; ++i) {
    const unsigned reach = s.options.reach, begin = reach > 0 && i > reach ? i - reach : 0;
    unsigned end = reach > 0 ? std::min(s.keys, i + reach + 1) : s.keys;
    if (s.options.causal) end = std::min(end, i + 1);
    const Expression query = pick(parameter(graph, q), i, 1);
    const auto seen = [&](const Parameter& of) {
      return pick_range(parameter(graph, of), begin, end, 1);
    };
    const Expression alone = attention(query, seen(k), seen(v), {.heads = s.options.heads});
    const Expression its_weights = attention_weights(query, k, s.options.heads);
    const auto found = as_doubles(pick(y, i, 1).value()), expected = as_doubles(alone.value());
    for (unsigned c = 0; c < s.value_rows; ++c) EXPECT_NEAR(found[c], expected[c], 1e-14);
    EXPECT_EQ(as_doubles(pick(weights, i, 2).value()), as_doubles(its_weights.value()));
  }
}

// The same seed drops the same weights, so numeric gradients are those of one function.
TEST_P(AttentionSizesTest, HasItsGradient) {
  const auto loss = [&](ComputationGraph& graph) {
    graph.set_seed(3);
    const Expression y = attention(parameter(graph, q), k, v, s.options);
    const Expression w = attention_weights(parameter(graph, q), k, s.options.heads);
    return sum_elems(cmult(y, sin(y + 1.0f))) + sum_elems(cmult(w, sin(w + 1.0f)));
  };
  EXPECT_LT(check_gradients(model, loss).error(), 1e-7);
}

/// Words of a table as columns.
class AttentionTest : public ::testing::Test {
 protected:
  static constexpr unsigned kRows = 16, kHeads = 4;

  Expression columns(ComputationGraph& graph, unsigned count, bool constant = false) const {
    std::vector<unsigned> rows(count);
    std::iota(rows.begin(), rows.end(), 0);
    const Expression all = constant ? const_lookup(graph, table, rows) : lookup(graph, table, rows);
    return reshape(all, Dim({kRows, count}));
  }
  std::vector<float> gradients(ComputationGraph& graph,
                               const std::vector<Expression>& losses) const {
    return graph.backward(sum(losses)).all_values(*model.storages()[0]);
  }

  ParameterCollection model{7};
  LookupParameter table = model.add_lookup_parameters(19, {kRows});
};

TEST_F(AttentionTest, QueriesHaveTheBitsOfEachAlone) {
  constexpr unsigned kQueries = 11;
  const auto results = [&](bool together) {
    ComputationGraph graph;
    const Expression keys = columns(graph, 19), queries = cos(columns(graph, kQueries));
    std::vector<Expression> outputs;
    for (unsigned i = 0; i < (together ? 1 : kQueries); ++i) {
      outputs.push_back(attention(together ? queries : pick(queries, i, 1), keys, keys));
    }
    std::vector<float> numbers;
    for (const Tensor& output : values_of(outputs)) testing::append(numbers, output);
    return numbers;
  };
  EXPECT_TRUE(testing::same(results(true), results(false)));
}

// Queries of all minibatch elements that look at the same keys are one node; the second of each
// element sees two keys if they are causal.
TEST_F(AttentionTest, MinibatchesOfQueriesAreOneNode) {
  constexpr unsigned kElements = 5, kQueries = 3, kKeys = 4, kSize = 9;
  ParameterCollection own(3);
  const LookupParameter q = own.add_lookup_parameters(kElements, {kSize, kQueries});
  const Parameter k = own.add_parameters({kSize, kKeys}), v = own.add_parameters({7, kKeys});
  for (const bool causal : {false, true}) {
    ComputationGraph graph;
    const std::vector<unsigned> all = {0, 1, 2, 3, 4};
    const Expression keys = parameter(graph, k), values = parameter(graph, v);
    // Not contiguous: a view into what is larger.
    const Expression twice = concatenate({lookup(graph, q, all), lookup(graph, q, all)});
    const Expression together =
        attention(pick_range(twice, 0, kSize), keys, values, {.causal = causal});
    ASSERT_EQ(together.dim(), Dim({7, kQueries}, kElements));
    const std::vector<float> found = as_vector(together.value());
    for (const Report::Type& type : graph.explain().types) {
      if (type.op != "attention") continue;
      EXPECT_EQ(type.nodes, 1u);
    }
    std::vector<float> separate;
    for (unsigned e = 0; e < kElements; ++e) {
      testing::append(separate,
                      attention(lookup(graph, q, e), keys, values, {.causal = causal}).value());
    }
    EXPECT_TRUE(testing::same(found, separate));
  }
}

// A decoder's memory that grows: keys that begin at one place, more or fewer of them.
TEST_F(AttentionTest, TellsApartHowManyKeysThereAre) {
  const auto numbers_of = [&](const std::vector<unsigned>& counts, batching::Policy policy) {
    ComputationGraph graph({.policy = policy});
    const Expression x = tanh(columns(graph, 9));
    std::vector<Expression> losses;
    for (const unsigned n : counts) {
      const Expression seen = pick_range(x, 0, n, 1), all = cos(x);
      const Expression y =
          attention(pick(x, 3u, 1), seen, pick_range(all, 0, n, 1), {.heads = kHeads});
      losses.push_back(squared_norm(tanh(y)));
    }
    std::vector<float> numbers;
    for (const Tensor& loss : values_of(losses)) testing::append(numbers, loss);
    const std::vector<float> sums = gradients(graph, losses);
    numbers.insert(numbers.end(), sums.begin(), sums.end());
    return numbers;
  };
  for (const std::vector<unsigned>& counts :
       {std::vector<unsigned>{1, 2, 3, 9}, {9, 8, 1, 2}, {4, 4, 5, 5, 4}}) {
    const std::vector<float> alone = numbers_of(counts, batching::Policy::none);
    EXPECT_TRUE(testing::same(numbers_of(counts, batching::Policy::automatic), alone));
    EXPECT_TRUE(testing::same(numbers_of(counts, batching::Policy::agenda), alone));
  }
}

// What all queries contribute to keys and values is one addend, whichever other reader comes first.
TEST_F(AttentionTest, ContributesToKeysAsAWhole) {
  // Gradients of the table from attention, from another reader, or from both in this order.
  enum class Reader { attention, other };
  const auto of = [&](std::initializer_list<Reader> readers, bool of_values) {
    ComputationGraph graph(
        {.policy = batching::Policy::none});  // the last reader contributes first
    const Expression x = columns(graph, 7), q = columns(graph, 7, true);
    std::vector<Expression> losses;
    for (const Reader reader : readers) {
      losses.push_back(reader == Reader::other ? squared_norm(sin(x))
                       : of_values ? squared_norm(attention(q, cos(q), x, {.heads = kHeads}))
                                   : squared_norm(attention(q, x, cos(q), {.heads = kHeads})));
    }
    return gradients(graph, losses);
  };
  for (const bool of_values : {false, true}) {
    std::vector<float> expected = of({Reader::attention}, of_values);
    const std::vector<float> other = of({Reader::other}, of_values);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += other[i];
    EXPECT_TRUE(testing::same(of({Reader::attention, Reader::other}, of_values), expected));
    EXPECT_TRUE(testing::same(of({Reader::other, Reader::attention}, of_values), expected));
  }
}

TEST_F(AttentionTest, RefusesWhatDoesNotFit) {
  ComputationGraph graph;
  const auto of = [&](const Dim& dim) { return zeros(graph, dim); };
  const Expression q = of({4, 2}), k = of({4, 3});
  const std::string need = "[attention] need queries {d, m}, keys {d, n} and values {e, n}; got ";
  expect_refused<ShapeError>(need + "{4,2} {4,3} {5,2}", [&] { attention(q, k, of({5, 2})); });
  expect_refused<ShapeError>(need + "{4,2} {3,3} {5,3}", [&] {
    attention(q, of({3, 3}), of({5, 3}));
  });
  expect_refused<ShapeError>(need + "...", [&] { attention(of({4}), of({4, 1, 2}), q); });
  expect_refused<ShapeError>("[attention] need rows that 2 heads can share; got {4,2} {4,3} {5,3}",
                             [&] {
                               attention(q, k, of({5, 3}), {.heads = 2});
                             });
  expect_refused<ShapeError>("[attention] need...", [&] { attention(q, k, k, {.heads = 0}); });
  expect_refused<ShapeError>(
      "[attention_weights] need queries {d, m} and keys {d, n}; got {4} {3,2}", [&] {
        attention_weights(of({4}), of({3, 2}));
      });
  expect_refused<ShapeError>("[attention_weights] need...",
                             [&] { attention_weights(of({4}), q, 3); });
  expect_refused<UsageError>("[attention] need...", [&] { attention(q, k, k, {.dropout = 1}); });
  EXPECT_EQ(attention(of({4}), of({4}), of({5})).dim(), Dim({5}));
  EXPECT_EQ(attention(of({4}), k, of({6, 3}), {.heads = 2}).dim(), Dim({6}));
}

// -------------------------------------------------------------------------------------- dropout

// With the values e_1, e_2, ..., results are the weights themselves.
TEST_F(AttentionTest, DropsWeights) {
  constexpr unsigned kKeys = 37, kQueries = 50;
  constexpr float kRate = 0.25f;
  ComputationGraph graph({.seed = 5});
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
  ComputationGraph inference({.inference = true, .seed = 5});
  const Expression x = ones(inference, {4, 3});
  attention(x, x, x, {.dropout = 0.5f});
  EXPECT_EQ(inference.size(), 2u);  // without numbers of its own
}

}  // namespace
}  // namespace dynet_like
