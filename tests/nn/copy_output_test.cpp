// CopyOutput and Coverage: formulas in plain doubles, gradients, batches, extremes, errors.
#include "tests/support/layers.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

using Words = std::vector<unsigned>;
constexpr unsigned kSourceStates = 4, kMeans = 3, kWords = 6;

double row_times(const Doubles& matrix, unsigned row, const Doubles& x) {
  double sum = 0;
  for (std::size_t c = 0; c < x.size(); ++c) sum += matrix[c * (kWords + 1) + row] * x[c];
  return sum;
}

TEST(CopyOutputTest, FollowsTheFormula) {
  ParameterCollection model(1, DType::f64);
  const CopyOutput output(model, kSourceStates, kWords, {.means = kMeans});
  randomise(model, 3);
  ComputationGraph graph(double_options());
  const Expression state = reshape(drawn_matrix(graph, kSourceStates, 1, 1), {kSourceStates});
  const Expression mean = reshape(drawn_matrix(graph, kMeans, 1, 2), {kMeans});
  const Attended found = {mean, softmax(reshape(drawn_matrix(graph, 5, 1, 3), {5}))};
  const Words source = {4, 1, 4, 0, 4};
  Doubles scores;
  for (unsigned row = 0; row <= kWords; ++row) {
    scores.push_back(row_times(numbers(model, "/copy_output/W"), row, as_doubles(state.value())) +
                     row_times(numbers(model, "/copy_output/V"), row, as_doubles(mean.value())) +
                     numbers(model, "/copy_output/b")[row]);
  }
  const double gate = 1 / (1 + std::exp(-scores[kWords]));
  double total = 0;
  for (unsigned word = 0; word < kWords; ++word) total += std::exp(scores[word]);
  const Doubles weights = as_doubles(found.weights.value());
  const Doubles got = as_doubles(output(state, found, source).value());
  ASSERT_EQ(got.size(), kWords);
  double sum = 0;
  for (unsigned word = 0; word < kWords; ++word) {
    double expected = gate * std::exp(scores[word]) / total;
    for (unsigned k = 0; k < 5; ++k) expected += source[k] == word ? (1 - gate) * weights[k] : 0;
    EXPECT_NEAR(got[word], std::log(expected), 1e-12) << word;
    EXPECT_EQ(as_doubles(output.loss(state, found, source, word).value())[0], -got[word]);
    sum += std::exp(got[word]);
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

// Own words of the source are copied, never generated; they have probabilities of their own.
TEST(CopyOutputTest, OwnWordsOfTheSource) {
  ParameterCollection model(1, DType::f64);
  const CopyOutput output(model, kSourceStates, kWords, {.means = kMeans});
  randomise(model, 3);
  ComputationGraph graph(double_options());
  const Expression state = reshape(drawn_matrix(graph, kSourceStates, 1, 1), {kSourceStates});
  const Expression mean = reshape(drawn_matrix(graph, kMeans, 1, 2), {kMeans});
  const Attended found = {mean, softmax(reshape(drawn_matrix(graph, 5, 1, 3), {5}))};
  const Words source = {kWords + 1, 1, kWords, 0, kWords + 1}, known = {2, 1, 3, 0, 2};
  const Doubles got = as_doubles(output(state, found, source).value()),
                without = as_doubles(output(state, found, known).value());
  ASSERT_EQ(got.size(), kWords + 2);
  const Doubles weights = as_doubles(found.weights.value());
  // What words 2 and 3 lose is what the own words have.
  EXPECT_NEAR(std::exp(got[kWords]) + std::exp(got[3]), std::exp(without[3]), 1e-12);
  EXPECT_NEAR(std::exp(got[kWords + 1]) + std::exp(got[2]), std::exp(without[2]), 1e-12);
  EXPECT_NEAR(std::exp(got[kWords + 1] - got[kWords]), (weights[0] + weights[4]) / weights[2],
              1e-12);
  double sum = 0;
  for (unsigned word = 0; word < got.size(); ++word) {
    EXPECT_NEAR(output.loss(state, found, source, word).value().at(0), -got[word], 1e-12) << word;
    sum += std::exp(got[word]);
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

// However many own words there are, a loss has one type.
TEST(CopyOutputTest, LossesOfOwnWordsShareBatches) {
  ParameterCollection model;
  const CopyOutput output(model, kSourceStates, kWords, {.means = kMeans});
  const auto batches = [&](const std::vector<unsigned>& own) {
    Minibatch batch;
    for (const unsigned count : own) {
      ComputationGraph& graph = batch.new_graph();
      const Expression state =
          reshape(drawn_matrix(graph, kSourceStates, 1, count), {kSourceStates});
      const Expression mean = reshape(drawn_matrix(graph, kMeans, 1, count), {kMeans});
      Words source;
      for (unsigned i = 0; i < count; ++i) source.push_back(kWords + i);
      const Expression scores = drawn_matrix(graph, 1, count, 3);
      const Attended found = {mean, reshape(segment_softmax(scores, {count}), {count})};
      batch.add_loss(output.loss(state, found, source, kWords));
    }
    batch.forward();
    return batch.explain().batches;
  };
  EXPECT_EQ(batches({1, 2, 3, 7, 5}), batches({5, 5, 5, 5, 5}));
}

// Several hypotheses, each with its own weights.
TEST(CopyOutputTest, HypothesesAreMinibatchElements) {
  ParameterCollection model;
  const CopyOutput output(model, kSourceStates, kWords, {.means = kMeans});
  randomise(model, 3);
  ComputationGraph graph;
  const auto elements = [&](unsigned rows, unsigned seed) {
    return reshape(drawn_matrix(graph, rows, 3, seed), Dim({rows}, 3));
  };
  const Words source = {4, 1, 7, 0, 7};
  const Expression states = elements(kSourceStates, 1);
  const Attended found = {elements(kMeans, 2), softmax(elements(5, 3))};
  const Expression all = output(states, found, source);
  EXPECT_EQ(all.dim(), Dim({8}, 3));
  for (unsigned i = 0; i < 3; ++i) {
    const Attended own = {pick_batch_elem(found.mean, i), pick_batch_elem(found.weights, i)};
    EXPECT_EQ(as_vector(pick_batch_elem(all, i).value()),
              as_vector(output(pick_batch_elem(states, i), own, source).value()));
  }
  EXPECT_THROW(output(pick_batch_elems(states, {0, 1}), found, source), ShapeError);
}

TEST(CoverageTest, EveryHypothesisHasItsOwnMemory) {
  ParameterCollection model;
  const AdditiveAttention attention(model, kMeans, kSourceStates, {.hidden = 5});
  const Coverage cover(model, 5);
  randomise(model, 4);
  ComputationGraph graph;
  const AttentionMemory memory = attention.read(drawn_matrix(graph, kMeans, 6, 1));
  const Expression queries =
      reshape(drawn_matrix(graph, kSourceStates, 3, 2), Dim({kSourceStates}, 3));
  AttentionMemory all = cover(memory, attention.weights(memory, queries));
  all = cover(all, attention.weights(all, queries));
  const Attended found = attention.attend(all, queries);
  EXPECT_EQ(found.weights.dim(), Dim({6}, 3));
  for (unsigned i = 0; i < 3; ++i) {
    const Expression query = pick_batch_elem(queries, i);
    AttentionMemory own = cover(memory, attention.weights(memory, query));
    own = cover(own, attention.weights(own, query));
    EXPECT_EQ(as_vector(pick_batch_elem(found.weights, i).value()),
              as_vector(attention.weights(own, query).value()));
    EXPECT_EQ(as_vector(pick_batch_elem(found.mean, i).value()),
              as_vector(attention(own, query).value()));
  }
  const AttentionMemory picked = pick_batch_elems(all, {2, 0});
  EXPECT_EQ(picked.keys.dim(), Dim({5, 6}, 2));
  EXPECT_EQ(picked.values.dim(), Dim({kMeans, 6}));
  EXPECT_EQ(message_of<ShapeError>([&] {
              cover(memory, ones(graph, {6, 2}));
            }),
            "[Coverage] need the weights of one query, {6}, and a minibatch element per "
            "hypothesis; got {6,2}");
}

TEST(CoverageTest, TheLossIsWhatIsLookedAtAgain) {
  ParameterCollection model(1, DType::f64);
  std::vector<Parameter> queries;
  for (int i = 0; i < 3; ++i) queries.push_back(model.add_parameters({4}));
  randomise(model, 6);
  const auto weights = [&](ComputationGraph& graph) {
    std::vector<Expression> all;
    for (const Parameter& each : queries) all.push_back(softmax(parameter(graph, each)));
    return all;
  };
  ComputationGraph graph(double_options());
  const std::vector<Expression> all = weights(graph);
  Doubles covered(4);
  double expected = 0;
  for (const Expression& each : all) {
    const Doubles now = as_doubles(each.value());
    for (unsigned i = 0; i < 4; ++i) {
      expected += std::min(now[i], covered[i]);
      covered[i] += now[i];
    }
  }
  EXPECT_NEAR(coverage_loss(all).value().at(0), expected, 1e-12);
  EXPECT_EQ(coverage_loss(std::span(all).first(1)).value().at(0), 0);
  EXPECT_THROW(coverage_loss({}), UsageError);
  EXPECT_THROW(coverage_loss(std::vector<Expression>{all[0], zeros(graph, {3})}), ShapeError);
}

// Scores that exceed all powers, a gate that is shut, and a weight of nothing.
TEST(CopyOutputTest, Extremes) {
  ParameterCollection model;
  const Parameter x = model.add_parameters({3}, ParameterInitFromVector({1000, 0, -1000}));
  const Parameter gate = model.add_parameters({1}, ParameterInitConst(200));
  const Parameter weights = model.add_parameters({2}, ParameterInitFromVector({1, 0}));
  Minibatch batch;
  ComputationGraph& graph = batch.new_graph();
  const Expression y = copy_log_softmax(parameter(graph, x), parameter(graph, gate),
                                        parameter(graph, weights), {1, 2});
  EXPECT_EQ(as_vector(y.value()), (std::vector<float>{0, -200, -2000}));
  batch.add_loss(-pick(y, 1u));
  batch.forward();
  const Gradients& gradients = batch.backward();
  EXPECT_EQ(gradients.values(x), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(gradients.values(gate), (std::vector<float>{1}));
  EXPECT_EQ(gradients.values(weights), (std::vector<float>{-1, 0}));
}

// Minibatch elements that read the same weights add up their gradients.
TEST(CopyOutputTest, ElementsShareWeights) {
  ParameterCollection model(1, DType::f64);
  const Parameter x = model.add_parameters({8}), weights = model.add_parameters({3});
  randomise(model, 4);
  expect_gradients(model, [&](ComputationGraph& graph) {
    const Expression two = reshape(parameter(graph, x), Dim({4}, 2));
    const Expression own = softmax(parameter(graph, weights));
    return squared_norm(sum_batches(copy_log_softmax(two, pick_range(two, 0, 1), own, {3, 0, 3})));
  });
}

TEST(CopyOutputTest, RefusesWhatDoesNotFit) {
  ParameterCollection model;
  EXPECT_THROW(CopyOutput(model, 0, 5, {.means = 3}), ShapeError);
  EXPECT_EQ(message_of<UsageError>([&] { CopyOutput(model, 2, 5, {}); }),
            "[CopyOutput] need the option `means`, at least 1; got 0");
  EXPECT_EQ(message_of<ShapeError>([&] { CopyOutput(model, 2, 0, {.means = 3}); }),
            "[CopyOutput] need at least 1 word; got 0");
  EXPECT_THROW(Coverage(model, 0), ShapeError);
  const CopyOutput output(model, 2, 5, {.means = 3});
  ComputationGraph graph;
  const Expression x = zeros(graph, {4}), gate = zeros(graph, {1}), two = ones(graph, {2});
  EXPECT_EQ(message_of<UsageError>([&] {
              copy_log_softmax(x, gate, two, {0, 4});
            }),
            "[copy_log_softmax] need words below 4; got 4");
  EXPECT_EQ(message_of<ShapeError>([&] { copy_log_softmax(x, gate, two, {0}); }),
            "[copy_log_softmax] need a word for each weight, at least one; not 1; got {4} {1} {2}");
  EXPECT_THROW(copy_log_softmax(x, two, two, {0, 1}), ShapeError);
  const Attended found = {ones(graph, {3}), two};
  EXPECT_EQ(message_of<UsageError>([&] {
              output(two, found, {1, 7});
            }),
            "[CopyOutput] need words below 7: 5 of the vocabulary, and at most 2 of the source; "
            "got 7");
  EXPECT_EQ(message_of<UsageError>([&] {
              output.loss(two, found, {1, 5}, 6);
            }),
            "[CopyOutput] need a word below 5, or one of the source; got 6");
  EXPECT_THROW(output.loss(two, found, {1, 4}, 5), UsageError);
  EXPECT_THROW(Coverage(model, 5)({ones(graph, {5, 3}), x}, two), ShapeError);
}

}  // namespace
}  // namespace dynet_like::nn
