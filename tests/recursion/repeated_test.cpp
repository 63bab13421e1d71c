// Vertices that repeat others in a minibatch for inference.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "dynet_like/exec/repeated_vertices.h"
#include "tests/support/same_bits.h"

namespace dynet_like::testing {
namespace {

constexpr unsigned kSize = 5;
using Words = std::vector<unsigned>;

struct Network {
  explicit Network(DType dtype = DType::f32, bool noisy = false)
      : model(1, dtype),
        words(model.add_lookup_parameters(4, {kSize})),
        rnn(recursion<Expression>(
            [w = model.add_parameters({kSize, kSize}), noisy](
                const Expression& x, const std::vector<Expression>& before) {
              Expression sum = noisy ? x + random_normal(*x.pg, Dim({kSize})) : x;
              for (const Expression& state : before) sum = sum + parameter(*x.pg, w) * state;
              return tanh(sum);
            },
            "rnn")) {}
  Expression states(ComputationGraph& graph, const Structure& structure,
                    const Words& sample) const {
    std::vector<Expression> columns;
    for (const unsigned word : sample) columns.push_back(lookup(graph, words, word));
    return rnn(structure, concatenate_cols(columns)).all();
  }

  ParameterCollection model;
  LookupParameter words;
  Recursion<Expression> rnn;
};

// Products of all samples in one minibatch, whose values must be those of each sample alone.
double products_of(const Network& network, const std::vector<Structure>& structures,
                   const std::vector<Words>& samples, unsigned threads = 1) {
  const GraphOptions options = {
      .threads = threads, .inference = true, .dtype = network.model.dtype()};
  Minibatch batch(options);
  std::vector<Expression> together;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    together.push_back(network.states(batch.new_graph(), structures[i], samples[i]));
    batch.add_output(together.back());
  }
  batch.forward();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    ComputationGraph graph(options);
    const Expression alone = network.states(graph, structures[i], samples[i]);
    std::vector<float> a, b;
    append(a, together[i].value());
    append(b, alone.value());
    EXPECT_TRUE(same(a, b)) << "sample " << i;
  }
  return batch.explain().product_flops;
}

constexpr double kProduct = 2 * kSize * kSize;

TEST(RepeatedVerticesTest, PrefixesRunOnce) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Network network(dtype);
    Random random(1);
    std::vector<Words> samples;
    std::vector<Structure> structures;
    std::set<Words> prefixes;  // of at least two words: the first one is not multiplied
    for (unsigned i = 0; i < 40; ++i) {
      Words& sample = samples.emplace_back(1 + random.below(5));
      for (unsigned& word : sample) word = random.below(4);
      structures.push_back(Structure::sequence(static_cast<unsigned>(sample.size())));
      for (std::size_t n = 2; n <= sample.size(); ++n) {
        prefixes.insert(Words(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(n)));
      }
    }
    const double all = kProduct * static_cast<double>(prefixes.size());
    const double products = products_of(network, structures, samples);
    if (!default_device()->is_cpu()) continue;
    EXPECT_EQ(products, all);
  }
}

TEST(RepeatedVerticesTest, EqualPartsOfTreesRunOnce) {
  const Network network;
  // The same tree under two roots; its leaves have other numbers in the second sample.
  const std::vector<Structure::Vertex> first = {
      {.column = 0}, {.column = 1}, {.predecessors = {0, 1}, .column = 2}};
  const std::vector<Structure::Vertex> second = {{.column = 1},
                                                 {.column = 0},
                                                 {.predecessors = {1, 0}, .column = 2},
                                                 {.predecessors = {2}, .column = 3}};
  const double products =
      products_of(network, {Structure(second), Structure(first)}, {{0, 1, 2, 3}, {0, 1, 2}});
  EXPECT_EQ(products, default_device()->is_cpu() ? 3 * kProduct : 5 * kProduct);
  // Another order of predecessors is another value.
  std::vector<Structure::Vertex> swapped = first;
  swapped[2].predecessors = {1, 0};
  EXPECT_EQ(products_of(network, {Structure(first), Structure(swapped)}, {{0, 1, 2}, {0, 1, 2}}),
            4 * kProduct);
}

TEST(RepeatedVerticesTest, ThreadsChangeNoBit) {
  const Network network;
  std::vector<Structure> structures;
  std::vector<Words> samples;
  for (unsigned i = 0; i < 20; ++i) {
    samples.push_back({i % 4, i % 3, i % 2});
    structures.push_back(i % 5 == 0 ? Structure::reversed_sequence(3) : Structure::sequence(3));
  }
  products_of(network, structures, samples, 3);
}

TEST(RepeatedVerticesTest, ColumnsThatDifferInOneElementAreOthers) {
  Network network;
  std::vector<float> row(kSize, 0.5f);
  network.words.initialize(0, row);
  for (unsigned i = 0; i < kSize; ++i) {
    std::vector<float> other = row;
    other[i] = 0.75f;
    network.words.initialize(1, other);
    const std::vector<Structure> structures(2, Structure::sequence(2));
    EXPECT_EQ(products_of(network, structures, {{0, 0}, {1, 0}}), 2 * kProduct);
  }
}

TEST(RepeatedVerticesTest, DrawsAreOthers) {
  const Network network(DType::f32, true);
  Minibatch batch({.inference = true});
  std::vector<Expression> all;
  for (unsigned i = 0; i < 2; ++i) {
    all.push_back(network.states(batch.new_graph(), Structure::sequence(2), {1, 2}));
    batch.add_output(all.back());
  }
  batch.forward();
  EXPECT_NE(as_vector(all[0].value()), as_vector(all[1].value()));
}

TEST(RepeatedVerticesTest, AreSeldomLookedForWhereFewAreFound) {
  detail::RecursionOp op, other;
  detail::RepeatSearches searches;
  EXPECT_TRUE(searches.begin(op));
  searches.end(op, 50, 100);
  EXPECT_TRUE(searches.begin(op));
  searches.end(op, 5, 100);
  for (unsigned i = 0; i < 15; ++i) EXPECT_FALSE(searches.begin(op));
  EXPECT_TRUE(searches.begin(other));
  EXPECT_TRUE(searches.begin(op));
}

}  // namespace
}  // namespace dynet_like::testing
