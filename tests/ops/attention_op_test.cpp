// Attention: against plain loops, and samples of any number of queries and keys in one batch.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "dynet_like/ops/structured.h"
#include "tests/ops/composed_function.h"
#include "tests/support/layers.h"
#include "tests/support/message_of.h"
#include "tests/support/same_bits.h"

namespace dynet_like {
namespace {

struct Sizes {
  unsigned key_rows, value_rows, queries, keys, heads;
  bool causal = false;
  unsigned reach = 0;
};

Doubles attend(const Sizes& s, const std::vector<Doubles>& x) {
  const unsigned key_head = s.key_rows / s.heads, value_head = s.value_rows / s.heads;
  Doubles y(s.value_rows * s.queries, 0);
  for (unsigned i = 0; i < s.queries; ++i) {
    for (unsigned h = 0; h < s.heads; ++h) {
      const unsigned end = s.causal ? std::min(i + 1, s.keys) : s.keys;
      const auto sees = [&](unsigned j) {
        return s.reach == 0 || (j + s.reach >= i && j <= i + s.reach);
      };
      Doubles weights(end, 0);
      double sum = 0;
      for (unsigned j = 0; j < end; ++j) {
        if (!sees(j)) continue;
        double score = 0;
        for (unsigned c = h * key_head; c < (h + 1) * key_head; ++c) {
          score += x[0][i * s.key_rows + c] * x[1][j * s.key_rows + c];
        }
        sum += weights[j] = std::exp(score / std::sqrt(key_head));
      }
      for (unsigned j = 0; j < end; ++j) {
        for (unsigned c = h * value_head; c < (h + 1) * value_head; ++c) {
          y[i * s.value_rows + c] += weights[j] / sum * x[2][j * s.value_rows + c];
        }
      }
    }
  }
  return y;
}

// What heads weigh keys with: {heads, keys, queries}.
Doubles weigh(const Sizes& s, const std::vector<Doubles>& x) {
  const unsigned rows = s.key_rows / s.heads;
  Doubles y;
  for (unsigned i = 0; i < s.queries; ++i) {
    const auto score = [&](unsigned j, unsigned h) {
      double sum = 0;
      for (unsigned c = h * rows; c < (h + 1) * rows; ++c) {
        sum += x[0][i * s.key_rows + c] * x[1][j * s.key_rows + c];
      }
      return std::exp(sum / std::sqrt(rows));
    };
    for (unsigned j = 0; j < s.keys; ++j) {
      for (unsigned h = 0; h < s.heads; ++h) {
        double sum = 0;
        for (unsigned k = 0; k < s.keys; ++k) sum += score(k, h);
        y.push_back(score(j, h) / sum);
      }
    }
  }
  return y;
}

Function weights_of(const char* name, const Sizes& s) {
  return {name,
          {s.queries == 0 ? Dim({s.key_rows}) : Dim({s.key_rows, s.queries}),
           Dim({s.key_rows, s.keys})},
          [s](const Xs& x) { return attention_weights(x[0], x[1], s.heads); },
          [s](const std::vector<Doubles>& x) {
            Sizes one = s;
            one.queries = std::max(s.queries, 1u);
            return weigh(one, x);
          }};
}

INSTANTIATE_TEST_SUITE_P(Weights, ComposedOpTest,
                         ::testing::Values(weights_of("one_key", {3, 0, 1, 1, 1}),
                                           weights_of("vector", {5, 0, 0, 7, 1}),
                                           weights_of("heads", {6, 0, 3, 5, 2}),
                                           weights_of("long", {34, 0, 2, 71, 1})),
                         [](const auto& test) { return std::string(test.param.name); });

Function function_of(const char* name, const Sizes& s) {
  return {name,
          {Dim({s.key_rows, s.queries}), Dim({s.key_rows, s.keys}), Dim({s.value_rows, s.keys})},
          [s](const Xs& x) {
            return attention(x[0], x[1], x[2],
                             {.heads = s.heads, .causal = s.causal, .reach = s.reach});
          },
          [s](const std::vector<Doubles>& x) { return attend(s, x); }};
}

INSTANTIATE_TEST_SUITE_P(Attention, ComposedOpTest,
                         ::testing::Values(function_of("one_key", {3, 2, 2, 1, 1}),
                                           function_of("small", {4, 6, 3, 5, 2}),
                                           function_of("causal", {8, 8, 7, 7, 4, true}),
                                           function_of("fewer_keys", {2, 2, 5, 3, 1, true}),
                                           function_of("long", {34, 17, 2, 71, 1}),
                                           function_of("wide", {36, 34, 5, 6, 2}),
                                           function_of("wide_causal", {18, 35, 6, 6, 1, true}),
                                           function_of("local", {6, 4, 9, 9, 2, false, 2}),
                                           function_of("local_causal", {6, 4, 9, 9, 2, true, 3})),
                         [](const auto& test) { return std::string(test.param.name); });

/// Self-attention over sentences of different lengths, with a residual connection.
class AttentionTest : public ::testing::Test {
 protected:
  static constexpr unsigned kRows = 16, kHeads = 4;
  const std::vector<unsigned> lengths{5, 1, 9, 17, 2, 9, 30, 3};

  Expression record(ComputationGraph& graph, unsigned length, bool causal = false) const {
    std::vector<unsigned> rows;
    for (unsigned i = 0; i < length; ++i) rows.push_back((3 * i + length) % 11);
    const Expression words = lookup(graph, table, rows);
    const Expression x = reshape(words, Dim({kRows, length}));
    const auto map = [&](const Parameter& w) {
      return affine_transform({parameter(graph, bias), parameter(graph, w), x});
    };
    const Expression y = x + attention(map(weights[0]), map(weights[1]), map(weights[2]),
                                       {.heads = kHeads, .causal = causal});
    return sum_elems(square(tanh(y)));
  }
  ParameterCollection model{7};
  LookupParameter table = model.add_lookup_parameters(11, {kRows});
  std::vector<Parameter> weights{model.add_parameters({kRows, kRows}),
                                 model.add_parameters({kRows, kRows}),
                                 model.add_parameters({kRows, kRows})};
  Parameter bias = model.add_parameters({kRows});
};

TEST_F(AttentionTest, AnyNumbersOfPositionsAreOneBatch) {
  Minibatch different, equal;
  for (const unsigned length : lengths) {
    different.add_loss(record(different.new_graph(), length));
    equal.add_loss(record(equal.new_graph(), 9));
  }
  different.forward();
  equal.forward();
  different.backward();
  equal.backward();
  const Report report = different.explain();
  for (const Report::Type& type : report.types) {
    if (type.op == "attention") {
      EXPECT_EQ(type.nodes, lengths.size());
      EXPECT_EQ(type.batches, 1u);
      EXPECT_EQ(type.backward_calls, 1u);
    }
  }
  // Only the sum over all elements depends on the length.
  EXPECT_LE(report.batches, equal.explain().batches + 6);
}

TEST_F(AttentionTest, HasTheSameBitsInEveryBatch) {
  for (const bool causal : {false, true}) {
    nn::expect_same_bits_in_batches(model, static_cast<unsigned>(lengths.size()),
                                    [&](ComputationGraph& graph, unsigned sample) {
                                      return record(graph, lengths[sample], causal);
                                    });
  }
}

TEST_F(AttentionTest, QueriesHaveTheBitsOfEachAlone) {
  constexpr unsigned kQueries = 11, kKeys = 19, kSize = 83;  // whole vectors, and what is left
  ParameterCollection own(3);
  const LookupParameter q = own.add_lookup_parameters(kQueries, {kSize});
  const LookupParameter kv = own.add_lookup_parameters(kKeys, {kSize});
  const auto columns = [](ComputationGraph& graph, const LookupParameter& x, unsigned count) {
    std::vector<unsigned> rows(count);
    std::iota(rows.begin(), rows.end(), 0);
    return reshape(lookup(graph, x, rows), Dim({kSize, count}));
  };
  const auto results = [&](bool together) {
    Minibatch batch;
    ComputationGraph& graph = batch.new_graph();
    const Expression keys = columns(graph, kv, kKeys);
    std::vector<Expression> outputs;
    if (together) {
      outputs.push_back(attention(columns(graph, q, kQueries), keys, keys));
    } else {
      for (unsigned i = 0; i < kQueries; ++i) {
        outputs.push_back(attention(lookup(graph, q, i), keys, keys));
      }
    }
    for (const Expression& output : outputs) {
      const Dim columns({kSize}, output.dim().cols());
      batch.add_loss(squared_norm(tanh(reshape(output, columns))));
    }
    batch.forward();
    std::vector<float> numbers;
    for (const Expression& output : outputs) testing::append(numbers, output.value());
    const std::vector<float> slopes = batch.backward().all_values(*own.storages()[0]);
    numbers.insert(numbers.end(), slopes.begin(), slopes.end());
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
    std::vector<unsigned> all(kElements);
    std::iota(all.begin(), all.end(), 0);
    const Expression keys = parameter(graph, k), values = parameter(graph, v);
    // Not contiguous: a view into what is larger.
    const Expression twice = concatenate({lookup(graph, q, all), lookup(graph, q, all)});
    const Expression queries = pick_range(twice, 0, kSize);
    const Expression together = attention(queries, keys, values, {.causal = causal});
    ASSERT_EQ(together.dim(), Dim({7, kQueries}, kElements));
    std::vector<float> separate;
    const Tensor found = together.value();
    for (const Report::Type& type : graph.explain().types) {
      if (type.op != "attention") continue;
      EXPECT_EQ(type.nodes, 1u);
    }
    for (unsigned e = 0; e < kElements; ++e) {
      testing::append(separate,
                      attention(lookup(graph, q, e), keys, values, {.causal = causal}).value());
    }
    EXPECT_TRUE(testing::same(as_vector(found), separate));
  }
}

// A decoder's memory that grows: keys that begin at one place, more or fewer of them.
TEST_F(AttentionTest, TellsApartHowManyKeysThereAre) {
  constexpr unsigned kColumns = 9;
  std::vector<unsigned> rows(kColumns);
  std::iota(rows.begin(), rows.end(), 0);
  const auto numbers_of = [&](const std::vector<unsigned>& counts, batching::Policy policy) {
    GraphOptions options;
    options.policy = policy;
    ComputationGraph graph(options);
    const Expression x = tanh(reshape(lookup(graph, table, rows), Dim({kRows, kColumns})));
    std::vector<Expression> losses;
    for (const unsigned n : counts) {
      const Expression seen = pick_range(x, 0, n, 1), all = cos(x);
      const Expression y =
          attention(pick(x, 3u, 1), seen, pick_range(all, 0, n, 1), {.heads = kHeads});
      losses.push_back(squared_norm(tanh(y)));
    }
    std::vector<float> numbers;
    for (const Tensor& loss : values_of(losses)) testing::append(numbers, loss);
    const std::vector<float> sums = graph.backward(sum(losses)).all_values(*model.storages()[0]);
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
  constexpr unsigned kColumns = 7;
  std::vector<unsigned> rows(kColumns);
  std::iota(rows.begin(), rows.end(), 0);
  // Gradients of the table from attention, from another reader, or from both in this order.
  enum class Reader { attention, other };
  GraphOptions options;
  options.policy = batching::Policy::none;  // so that the last reader contributes first
  const auto gradients = [&](std::initializer_list<Reader> readers, bool of_values) {
    ComputationGraph graph(options);
    const Expression x = reshape(lookup(graph, table, rows), Dim({kRows, kColumns}));
    const Expression q = reshape(const_lookup(graph, table, rows), Dim({kRows, kColumns}));
    std::vector<Expression> losses;
    for (const Reader reader : readers) {
      losses.push_back(reader == Reader::other ? squared_norm(sin(x))
                       : of_values ? squared_norm(attention(q, cos(q), x, {.heads = kHeads}))
                                   : squared_norm(attention(q, x, cos(q), {.heads = kHeads})));
    }
    return graph.backward(sum(losses)).all_values(*model.storages()[0]);
  };
  for (const bool of_values : {false, true}) {
    std::vector<float> expected = gradients({Reader::attention}, of_values);
    const std::vector<float> other = gradients({Reader::other}, of_values);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += other[i];
    EXPECT_TRUE(testing::same(gradients({Reader::attention, Reader::other}, of_values), expected));
    EXPECT_TRUE(testing::same(gradients({Reader::other, Reader::attention}, of_values), expected));
  }
}

TEST_F(AttentionTest, HasTheSameBitsInInference) {
  Minibatch batch({.inference = true});
  std::vector<Expression> losses;
  for (const unsigned length : lengths) {
    losses.push_back(record(batch.new_graph(), length));
    batch.add_output(losses.back());
  }
  batch.forward();
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    ComputationGraph graph;
    EXPECT_EQ(as_vector(losses[i].value()), as_vector(record(graph, lengths[i]).value()));
  }
}

// Keys and values that follow from parameters alone are computed once; their gradients come from
// all queries.
TEST_F(AttentionTest, TakesKeysThatAreParameters) {
  ParameterCollection memory(3, DType::f64);
  const Parameter keys = memory.add_parameters({4, 6}), values = memory.add_parameters({3, 6}),
                  bias_of_keys = memory.add_parameters({4, 6});
  nn::expect_gradients(memory, [&](ComputationGraph& graph) {
    std::vector<Expression> losses;
    for (unsigned sample = 0; sample < 3; ++sample) {
      const Expression k = tanh(parameter(graph, keys) + parameter(graph, bias_of_keys));
      losses.push_back(squared_norm(attention(nn::drawn_matrix(graph, 4, sample + 1, sample), k,
                                              parameter(graph, values), {.causal = sample == 1})));
    }
    return sum(losses);
  });
}

TEST_F(AttentionTest, RefusesWhatDoesNotFit) {
  ComputationGraph graph;
  const auto of = [&](const Dim& dim) { return zeros(graph, dim); };
  EXPECT_EQ(
      message_of<ShapeError>([&] {
        attention(of({4, 2}), of({4, 3}), of({5, 2}));
      }),
      "[attention] need queries {d, m}, keys {d, n} and values {e, n}; got {4,2} {4,3} {5,2}");
  EXPECT_EQ(
      message_of<ShapeError>([&] {
        attention(of({4, 2}), of({3, 5}), of({4, 5}));
      }),
      "[attention] need queries {d, m}, keys {d, n} and values {e, n}; got {4,2} {3,5} {4,5}");
  EXPECT_EQ(message_of<ShapeError>([&] {
              apply_op(ops::attention, {of({4})}, {1}, {0, 0, 0});
            }),
            "[attention] need 3 inputs, not 1; got {4}");
  EXPECT_THROW(attention(of({4, 2}), of({3, 3}), of({5, 3})), ShapeError);
  EXPECT_EQ(message_of<ShapeError>([&] {
              attention(of({4, 2}), of({4, 3}), of({5, 3}), {.heads = 2});
            }),
            "[attention] need rows that 2 heads can share; got {4,2} {4,3} {5,3}");
  EXPECT_THROW(attention(of({4, 2}), of({4, 3}), of({4, 3}), {.heads = 0}), ShapeError);
  EXPECT_EQ(attention(of({4}), of({4}), of({5})).dim(), Dim({5}));
  EXPECT_THROW(attention(of({4}), of({4, 1, 2}), of({4, 2})), ShapeError);
  EXPECT_EQ(message_of<ShapeError>([&] {
              attention_weights(of({4}), of({3, 2}));
            }),
            "[attention_weights] need queries {d, m} and keys {d, n}; got {4} {3,2}");
  EXPECT_THROW(attention_weights(of({4}), of({4, 2}), 3), ShapeError);
  EXPECT_EQ(attention(of({4}), of({4, 3}), of({6, 3}), {.heads = 2}).dim(), Dim({6}));
}

}  // namespace
}  // namespace dynet_like
