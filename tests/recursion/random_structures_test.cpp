// Recursions along random structures, and cells called vertex by vertex: the values of the plain
// function, its gradients, and the same bits whatever is in the minibatch.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "dynet_like/dynet_like.h"
#include "tests/recursion/random_structure.h"
#include "tests/support/same_bits.h"

namespace dynet_like::testing {
namespace {

constexpr unsigned kHidden = 5, kInputs = 3, kWords = 11;

/// With the words that its columns are.
struct SentenceStructure : RandomStructure {
  explicit SentenceStructure(std::uint64_t seed) : RandomStructure(seed, 12, 2) {
    std::mt19937_64 random(seed);
    for (unsigned i = 0; i < words; ++i) ids.push_back(static_cast<unsigned>(random() % kWords));
  }

  std::vector<unsigned> ids;
};

/// A child-sum Tree-LSTM, gate by gate, with two kinds of vertices.
struct Network {
  explicit Network(DType dtype)
      : model(7, dtype), words(model.add_lookup_parameters(kWords, {kInputs}, "words")) {
    for (const char* gate : {"i", "o", "u", "f"}) {
      of_x.push_back(model.add_parameters({kHidden, kInputs}, std::string("W") + gate));
      of_h.push_back(model.add_parameters({kHidden, kHidden}, std::string("U") + gate));
      bias.push_back(model.add_parameters({2 * kHidden}, ParameterInitUniform(-1, 1),
                                          std::string("b") + gate));
    }
    gain = model.add_parameters({kHidden}, ParameterInitUniform(0.5f, 1), "gain");
  }

  Expression gate(ComputationGraph& graph, unsigned g, unsigned kind, const Expression& x,
                  const Expression& h) const {
    Expression sum = pick_range(parameter(graph, bias[g]), kind * kHidden, (kind + 1) * kHidden);
    if (!x.empty()) sum = sum + parameter(graph, of_x[g]) * x;
    if (!h.empty()) sum = affine_transform({sum, parameter(graph, of_h[g]), h});
    return g == 2 ? tanh(sum) : sigmoid(sum);
  }
  CellState operator()(unsigned kind, const Expression& x,
                       const std::vector<CellState>& before) const {
    ComputationGraph& graph = before.empty() ? *x.pg : *before[0].h.pg;
    Expression h;
    for (const CellState& state : before) h = h.empty() ? state.h : h + state.h;
    if (kind == 1 && !h.empty()) h = layer_norm(h, parameter(graph, gain), zeros(graph, {kHidden}));
    Expression c = cmult(gate(graph, 0, kind, x, h), gate(graph, 2, kind, x, h));
    for (const CellState& state : before) c = c + cmult(gate(graph, 3, kind, x, state.h), state.c);
    return {cmult(gate(graph, 1, kind, x, h), tanh(c)), c};
  }

  ParameterCollection model;
  LookupParameter words;
  std::vector<Parameter> of_x, of_h, bias;
  Parameter gain;
};

Expression columns_of(ComputationGraph& graph, const Network& network, const SentenceStructure& s) {
  std::vector<Expression> rows;
  for (unsigned id : s.ids) rows.push_back(lookup(graph, network.words, id));
  return concatenate_cols(rows);
}

/// Reads all states as matrices and one by itself, and the columns, too.
Expression loss_of(const CellState& all, const CellState& last, const Expression& columns) {
  return sum_elems(tanh(all.h)) + squared_norm(last.c) + sum_elems(square(pick(all.h, 0u, 1))) +
         squared_norm(columns);
}

struct Sample {
  CellState all;
  Expression loss;
};

Sample record(ComputationGraph& graph, const Network& network, const Recursion<CellState>& cell,
              const SentenceStructure& s) {
  const Expression columns = columns_of(graph, network, s);
  const States<CellState> states = cell(s.structure(), columns);
  const CellState all = states.all();
  return {all, loss_of(all, states.last(), columns)};
}

/// The function called for each vertex: itself, or a cell.
template <class F>
Sample record_vertices(ComputationGraph& graph, const Network& network, const F& function,
                       const SentenceStructure& s) {
  const Expression columns = columns_of(graph, network, s);
  std::vector<CellState> states;
  std::vector<Expression> hs, cs;
  for (std::size_t v = 0; v < s.kinds.size(); ++v) {
    std::vector<CellState> before;
    for (unsigned p : s.predecessors[v]) before.push_back(states[p]);
    const Expression x =
        s.columns[v] == Structure::kNoColumn ? Expression() : pick(columns, s.columns[v], 1);
    states.push_back(function(s.kinds[v], x, before));
    hs.push_back(states.back().h);
    cs.push_back(states.back().c);
  }
  const CellState all{concatenate_cols(hs), concatenate_cols(cs)};
  return {all, loss_of(all, states.back(), columns)};
}

using NetworkCell =
    CellFunction<CellState(unsigned, const Expression&, const std::vector<CellState>&)>;

Sample record(ComputationGraph& graph, const Network& network, const NetworkCell& cell,
              const SentenceStructure& s) {
  return record_vertices(graph, network, cell, s);
}

std::vector<float> gradients_of(const Network& network, const Gradients& gradients) {
  std::vector<float> all;
  for (const auto& storage : network.model.storages()) {
    const std::vector<float> values = gradients.all_values(*storage);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

template <class Cell>
void expect_plain_values_and_gradients(const Network& network, const Cell& cell) {
  GraphOptions options;
  options.dtype = DType::f64;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const SentenceStructure s(seed);
    ComputationGraph graph(options), plain(options);
    const Sample sample = record(graph, network, cell, s);
    const Sample expected = record_vertices(plain, network, network, s);
    std::vector<float> values, expected_values;
    for (const auto& [to, of] :
         {std::pair(&values, &sample), std::pair(&expected_values, &expected)}) {
      append(*to, of->all.h.value());
      append(*to, of->all.c.value());
    }
    ASSERT_TRUE(same(values, expected_values));
    const std::vector<float> got = gradients_of(network, graph.backward(sample.loss));
    const std::vector<float> want = gradients_of(network, plain.backward(expected.loss));
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[i], 1e-6 * (1 + std::abs(want[i]))) << i;
  }
}

TEST(RandomStructures, HaveTheValuesAndGradientsOfVertices) {
  const Network network(DType::f64);
  expect_plain_values_and_gradients(network, recursion<CellState>(std::cref(network), "child-sum"));
}

TEST(RandomStructures, HaveThemAsCallsOfACell) {
  const Network network(DType::f64);
  expect_plain_values_and_gradients(network, NetworkCell(std::cref(network), "child-sum"));
}

// Vertices without predecessors get a state, one or many of them.
TEST(RandomStructures, BeginWithAState) {
  const Network network(DType::f64);
  const auto cell = recursion<CellState>(std::cref(network), "child-sum");
  GraphOptions options;
  options.dtype = DType::f64;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const SentenceStructure s(seed);
    const auto run = [&](const auto& states_of) {
      ComputationGraph graph(options);
      const Expression columns = columns_of(graph, network, s), w = parameter(graph, network.gain);
      const CellState start{tanh(w), w * 0.5f};
      const CellState all = states_of(graph, columns, start);
      std::vector<float> numbers;
      append(numbers, all.h.value());
      const Gradients& gradients =
          graph.backward(loss_of(all, all, columns) + squared_norm(start.c));
      const std::vector<float> more = gradients_of(network, gradients);
      numbers.insert(numbers.end(), more.begin(), more.end());
      return numbers;
    };
    const auto got = run([&](ComputationGraph&, const Expression& columns, const CellState& start) {
      return cell(s.structure(), columns, start).all();
    });
    const auto want =
        run([&](ComputationGraph&, const Expression& columns, const CellState& start) {
          std::vector<CellState> states;
          std::vector<Expression> hs, cs;
          for (std::size_t v = 0; v < s.kinds.size(); ++v) {
            std::vector<CellState> before;
            for (unsigned p : s.predecessors[v]) before.push_back(states[p]);
            if (before.empty()) before = {start};
            const Expression x = s.columns[v] == Structure::kNoColumn
                                     ? Expression()
                                     : pick(columns, s.columns[v], 1);
            states.push_back(network(s.kinds[v], x, before));
            hs.push_back(states.back().h);
            cs.push_back(states.back().c);
          }
          return CellState{concatenate_cols(hs), concatenate_cols(cs)};
        });
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[i], 1e-6 * (1 + std::abs(want[i]))) << i;
  }
}

struct Bits {
  std::vector<float> values, of_states, gradients;
};

// Samples one by one give what they give together; gradients are summed in the same order.
template <class Cell>
Bits run(const Network& network, const Cell& cell, std::uint64_t first, std::uint64_t end,
         bool together, const GraphOptions& options) {
  Bits bits;
  Minibatch batch(options);
  Gradients gradients;
  for (std::uint64_t seed = first; seed < end;) {
    batch.clear();
    std::vector<Sample> samples;
    do {
      samples.push_back(record(batch.new_graph(), network, cell, SentenceStructure(seed)));
      batch.add_loss(samples.back().loss);
    } while (++seed < end && together);
    batch.forward();
    for (const Sample& sample : samples) {
      append(bits.values, sample.all.h.value());
      append(bits.values, sample.all.c.value());
    }
    batch.backward(gradients);
    for (const Sample& sample : samples) append(bits.of_states, sample.all.h.gradient());
  }
  bits.gradients = gradients_of(network, gradients);
  return bits;
}

template <class Cell>
void expect_same_bits_in_every_minibatch(const Network& network, const Cell& cell) {
  for (std::uint64_t round = 0; round < 10; ++round) {
    SCOPED_TRACE(round);
    const Bits alone = run(network, cell, 20 * round, 20 * round + 20, false, {});
    for (const auto policy :
         {batching::Policy::automatic, batching::Policy::depth, batching::Policy::none}) {
      GraphOptions options;
      options.policy = policy;
      for (const unsigned threads : {1u, 2u}) {
        options.threads = threads;
        const Bits bits = run(network, cell, 20 * round, 20 * round + 20, true, options);
        ASSERT_TRUE(same(bits.values, alone.values));
        ASSERT_TRUE(same(bits.of_states, alone.of_states));
        ASSERT_TRUE(same_sums(bits.gradients, alone.gradients));
      }
    }
  }
}

TEST(RandomStructures, HaveTheSameBitsInEveryMinibatch) {
  const Network network(DType::f32);
  expect_same_bits_in_every_minibatch(network,
                                      recursion<CellState>(std::cref(network), "child-sum"));
}

TEST(RandomStructures, HaveTheSameBitsAsCallsOfACell) {
  const Network network(DType::f32);
  expect_same_bits_in_every_minibatch(network, NetworkCell(std::cref(network), "child-sum"));
}

// A function is recorded when it meets a new kind of vertex: not in which order must matter.
TEST(RandomStructures, HaveTheSameBitsWhicheverKindsCameFirst) {
  const Network network(DType::f32);
  for (std::uint64_t first = 0; first < 200; first += 20) {
    SCOPED_TRACE(first);
    const auto cell = recursion<CellState>(std::cref(network), "child-sum");
    const auto other = recursion<CellState>(std::cref(network), "child-sum");
    for (std::uint64_t seed = first + 20; seed-- > first;) {
      run(network, other, seed, seed + 1, true, {});
    }
    const Bits want = run(network, cell, first, first + 20, true, {});
    const Bits bits = run(network, other, first, first + 20, true, {});
    ASSERT_TRUE(same(bits.values, want.values));
    ASSERT_TRUE(same(bits.of_states, want.of_states));
    ASSERT_TRUE(same_sums(bits.gradients, want.gradients));
  }
}

// Threads that record meet new kinds of vertices at once, in samples before and after each other.
template <class Make>
void expect_same_bits_recorded_beside_each_other(const Network& network, const Make& make) {
  for (std::uint64_t round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    std::vector<float> losses[2];
    Gradients gradients[2];
    for (const unsigned threads : {1u, 4u}) {
      const auto cell = make();
      GraphOptions options;
      options.threads = threads;
      Minibatch batch(options);
      const std::size_t which = threads > 1;
      for (int pass = 0; pass < 2; ++pass) {
        batch.clear();
        batch.add_losses(24, [&](ComputationGraph& graph, std::size_t i) {
          return record(graph, network, cell, SentenceStructure(24 * round + i)).loss;
        });
        losses[which].push_back(batch.forward());
        batch.backward(gradients[which]);
      }
    }
    EXPECT_TRUE(same(losses[0], losses[1]));
    EXPECT_TRUE(
        same_sums(gradients_of(network, gradients[0]), gradients_of(network, gradients[1])));
  }
}

TEST(RandomStructures, HaveTheSameBitsRecordedBesideEachOther) {
  const Network network(DType::f32);
  expect_same_bits_recorded_beside_each_other(
      network, [&] { return recursion<CellState>(std::cref(network), "child-sum"); });
}

TEST(RandomStructures, HaveTheSameBitsAsCallsBesideEachOther) {
  const Network network(DType::f32);
  expect_same_bits_recorded_beside_each_other(
      network, [&] { return NetworkCell(std::cref(network), "child-sum"); });
}

}  // namespace
}  // namespace dynet_like::testing
