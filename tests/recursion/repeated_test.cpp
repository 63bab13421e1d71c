// Vertices that repeat others in a minibatch, in inference and in training.
#include <set>

#include "dynet_like/core/errors.h"
#include "dynet_like/exec/repeated_vertices.h"
#include "tests/support/message_of.h"
#include "tests/support/modes.h"
#include "tests/support/precompiled.h"

namespace dynet_like::testing {
namespace {

constexpr unsigned kUnits = 5;
using Words = std::vector<unsigned>;

struct RepeatNetwork {
  explicit RepeatNetwork(DType dtype = DType::f32, bool noisy = false)
      : model(1, dtype),
        words(model.add_lookup_parameters(4, {kUnits})),
        rnn(recursion<Expression>(
            [w = model.add_parameters({kUnits, kUnits}), noisy](
                const Expression& x, const std::vector<Expression>& before) {
              Expression sum = noisy ? x + random_normal(*x.pg, Dim({kUnits})) : x;
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
double products_of(const RepeatNetwork& network, const std::vector<Structure>& structures,
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
    EXPECT_EQ(as_doubles(together[i].value()), as_doubles(alone.value())) << "sample " << i;
  }
  return batch.explain().product_flops;
}

constexpr double kProduct = 2 * kUnits * kUnits;

TEST(RepeatedVerticesTest, PrefixesRunOnce) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const RepeatNetwork network(dtype);
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
  const RepeatNetwork network;
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

TEST(RepeatedVerticesTest, ColumnsThatDifferInOneElementAreOthers) {
  RepeatNetwork network;
  std::vector<float> row(kUnits, 0.5f);
  network.words.initialize(0, row);
  for (unsigned i = 0; i < kUnits; ++i) {
    std::vector<float> other = row;
    other[i] = 0.75f;
    network.words.initialize(1, other);
    const std::vector<Structure> structures(2, Structure::sequence(2));
    EXPECT_EQ(products_of(network, structures, {{0, 0}, {1, 0}}), 2 * kProduct);
  }
}

TEST(RepeatedVerticesTest, DrawsAreOthers) {
  const RepeatNetwork network(DType::f32, true);
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

/// Sequences and trees of words, read by layers, in training.
class SharedTraining : public ::testing::TestWithParam<unsigned> {
 protected:
  /// How a sample reads the table: with a gradient, as a constant, or behind nobackprop.
  enum class Rows { open, constant, held_back };
  /// Which words have a loss, and how the samples read the table.
  struct Reading {
    Words words;
    std::vector<float> weights;  // of states; none if it has no loss
    Rows rows = Rows::open;
    std::vector<bool> frozen;  // by parameter, while it is recorded
  };
  struct Result {
    Numbers gradients;
    double products = 0;
  };

  std::vector<Reading> random_samples() {
    Random random(GetParam());
    std::vector<Reading> samples(1 + random.below(12));
    for (Reading& sample : samples) {
      sample.words.resize(1 + random.below(5));
      for (unsigned& word : sample.words) word = random.below(3);
      sample.rows =
          std::array{Rows::open, Rows::open, Rows::constant, Rows::held_back}[random.below(4)];
      if (random.below(4) == 0) continue;
      for (std::size_t i = 0; i < 2 * sample.words.size(); ++i) {
        sample.weights.push_back(static_cast<float>(random.below(3)) - 1);
      }
    }
    return samples;
  }

  Expression loss_of(ComputationGraph& graph, const Reading& sample) const {
    const Expression rows = sample.rows == Rows::constant
                                ? const_lookup(graph, table_, sample.words)
                                : lookup(graph, table_, sample.words);
    const auto n = static_cast<unsigned>(sample.words.size());
    const Expression all = reshape(rows, Dim({kUnits, n}));
    const Expression columns = sample.rows == Rows::held_back ? nobackprop(all) : all;
    std::vector<Expression> terms;
    const Expression forward = lstm_(columns).all().h;
    const Expression tree = tree_(Structure(branches(n)), columns).all();
    for (unsigned i = 0; i < n && !sample.weights.empty(); ++i) {
      terms.push_back(sample.weights[i] * squared_norm(pick(forward, i, 1)));
      terms.push_back(sample.weights[n + i] * squared_norm(pick(tree, i, 1)));
    }
    return terms.empty() ? zeros(graph, Dim({1})) : sum(terms);
  }

  Result train(const std::vector<Reading>& samples, bool share_repeated, unsigned threads = 1) {
    Minibatch batch({.threads = threads, .share_repeated = share_repeated, .dtype = DType::f64});
    add(batch, samples);
    batch.forward();
    if (samples.empty()) return {values({})};
    return {values(batch.backward()), batch.explain().product_flops};
  }

  /// Expects the same gradients of shared vertices as of others, up to their last bits.
  void expect_alike(const std::vector<Reading>& samples, unsigned threads) {
    const Result shared = train(samples, true, threads);  // the first run meets kinds one by one
    const Result alone = train(samples, false);
    EXPECT_TRUE(near(shared.gradients, alone.gradients, 1e-12));
    EXPECT_LE(shared.products, alone.products);
    EXPECT_EQ(train(samples, true, threads).gradients, shared.gradients);
  }

  void add(Minibatch& batch, const std::vector<Reading>& samples) const {
    for (const Reading& sample : samples) {
      for (std::size_t p = 0; p < sample.frozen.size(); ++p) {
        model_.storages()[p]->frozen = sample.frozen[p];
      }
      batch.add_loss(loss_of(batch.new_graph(), sample));
    }
    for (const auto& storage : model_.storages()) storage->frozen = false;
  }

  Numbers values(const Gradients& gradients) const { return numbers_of(model_, gradients); }

 protected:
  // A vertex reads the two before it, so that states have several readers.
  static std::vector<Structure::Vertex> branches(unsigned n) {
    std::vector<Structure::Vertex> vertices(n);
    for (unsigned i = 0; i < n; ++i) {
      vertices[i].column = i;
      for (unsigned before = i < 2 ? 0 : i - 2; before < i; ++before) {
        vertices[i].predecessors.push_back(before);
      }
    }
    return vertices;
  }

  ParameterCollection model_{1, DType::f64};
  LookupParameter table_ = model_.add_lookup_parameters(3, {kUnits});
  nn::LSTM lstm_{model_, kUnits, kUnits};
  Recursion<Expression> tree_ = recursion<Expression>(
      [w = model_.add_parameters({kUnits, kUnits})](const Expression& x,
                                                    const std::vector<Expression>& before) {
        Expression sum = x;
        for (const Expression& state : before) sum = sum + parameter(*x.pg, w) * state;
        return tanh(sum);
      },
      "tree");
};

TEST_P(SharedTraining, HasTheGradientsOfSamplesAlone) {
  const std::vector<Reading> samples = random_samples();
  for (const unsigned threads : {1u, 2u}) expect_alike(samples, threads);
}

// Parameters are frozen in some samples of a minibatch, and not in others.
TEST_P(SharedTraining, TellsFrozenParametersApart) {
  Random random(GetParam());
  std::vector<Reading> samples = random_samples();
  for (Reading& sample : samples) {
    const unsigned which = random.below(4);
    for (unsigned p = 0; p < model_.size(); ++p) sample.frozen.push_back(p % 4 == which);
  }
  for (const unsigned threads : {1u, 2u}) expect_alike(samples, threads);
}

TEST_P(SharedTraining, ShardsShareAsIfTheyWereAlone) {
  const std::vector<Reading> samples = random_samples();
  const auto count = static_cast<std::uint32_t>(samples.size());
  const std::vector<std::uint32_t> ends = {count / 3, count / 3, 2 * count / 3, count};
  for (const unsigned threads : {1u, 2u, 3u, 8u}) {
    Minibatch batch({.threads = threads,
                     .verify_batching = threads == 3,
                     .share_repeated = true,
                     .dtype = DType::f64});
    for (int round = 0; round < 2; ++round) {  // the second uses the memory of the first
      batch.clear();
      add(batch, samples);
      batch.forward(ends);
      std::vector<Gradients> gradients(ends.size());
      batch.backward(ends, gradients);
      for (std::size_t shard = 0; shard < ends.size(); ++shard) {
        const std::uint32_t begin = shard == 0 ? 0 : ends[shard - 1];
        const std::vector<Reading> own(samples.begin() + begin, samples.begin() + ends[shard]);
        EXPECT_EQ(values(gradients[shard]), train(own, true).gradients)
            << threads << " threads, round " << round << ", shard " << shard;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SharedTraining, ::testing::Range(0u, 40u));

TEST(SharedTrainingTest, EqualRowsOfATableAreOne) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "vertices are shared on a CPU alone";
  ParameterCollection model;
  const LookupParameter table = model.add_lookup_parameters(2, {kUnits}, ParameterInitConst(0.5f));
  const nn::LSTM lstm(model, kUnits, kUnits);
  const auto products = [&](const Words& first, const Words& second) {
    Minibatch batch({.share_repeated = true});
    for (const Words& words : {first, second}) {
      const Expression rows = lookup(batch.new_graph(), table, words);
      batch.add_loss(squared_norm(lstm(reshape(rows, Dim({kUnits, 2}))).last().h));
    }
    batch.forward();
    batch.backward();
    return batch.explain().product_flops;
  };
  // Rows with the same numbers are others: each has a gradient of its own.
  const double all = products({0, 0}, {1, 0});
  EXPECT_EQ(products({0, 0}, {0, 0}), all / 2);
  EXPECT_EQ(products({0, 0}, {0, 1}), all * 3 / 4);
}

// The second reading gives the first one's columns no gradient, whichever runs for both.
TEST(SharedTrainingTest, ColumnsWithoutGradientAreOthers) {
  ParameterCollection model(1, DType::f64);
  const LookupParameter table = model.add_lookup_parameters(2, {kUnits});
  const nn::LSTM lstm(model, kUnits, kUnits);
  const auto gradients = [&](bool share, bool of_rows, const std::vector<bool>& held_back) {
    Minibatch batch({.share_repeated = share, .dtype = DType::f64});
    ComputationGraph& graph = batch.new_graph();
    const Expression rows = reshape(lookup(graph, table, Words{0, 1}), Dim({kUnits, 2}));
    const Expression columns = of_rows ? rows : tanh(rows);
    for (std::size_t i = 0; i < held_back.size(); ++i) {
      const Expression read = held_back[i] ? nobackprop(columns) : columns;
      batch.add_loss(squared_norm(lstm(read).last().h) * static_cast<float>(i + 1));
    }
    batch.forward();
    return batch.backward().all_doubles(*table.p);
  };
  for (const bool of_rows : {false, true}) {
    for (const std::vector<bool>& held_back : {std::vector{true, false}, {false, true}}) {
      EXPECT_TRUE(
          near(gradients(true, of_rows, held_back), gradients(false, of_rows, held_back), 1e-12));
    }
  }
}

TEST(SharedTrainingTest, ShardsMustBeKnownBefore) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "vertices are shared on a CPU alone";
  ParameterCollection model;
  const Parameter w = model.add_parameters({1});
  Minibatch batch({.share_repeated = true});
  for (int i = 0; i < 2; ++i) batch.add_loss(squared_norm(parameter(batch.new_graph(), w)));
  batch.forward();
  std::vector<Gradients> gradients(2);
  const std::vector<std::uint32_t> ends = {1, 2};
  expect_refused<UsageError>("...before their shards were known...",
                             [&] { batch.backward(ends, gradients); });
}

}  // namespace
}  // namespace dynet_like::testing
