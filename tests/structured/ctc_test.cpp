// CTC: against all paths one by one, gradients, long sequences, scores of -infinity, decoders,
// batches, errors.
#include "tests/structured/problem.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/structured.h"

namespace dynet_like::nn {
namespace {

using Labels = std::vector<unsigned>;

/// ln of the probabilities of all classes in every step, a column each.
Doubles log_probabilities(const Doubles& scores, unsigned classes) {
  Doubles result;
  for (std::size_t first = 0; first < scores.size(); first += classes) {
    LogSum sum;
    for (unsigned i = 0; i < classes; ++i) sum.add(scores[first + i]);
    for (unsigned i = 0; i < classes; ++i) result.push_back(scores[first + i] - sum.value());
  }
  return result;
}

/// The same of some labels, by the recursion of the paper, state by state.
double log_probability(const Doubles& scores, unsigned classes, const Labels& labels) {
  const Doubles logs = log_probabilities(scores, classes);
  std::vector<unsigned> states = {classes - 1};
  for (const unsigned label : labels) states.insert(states.end(), {label, classes - 1});
  Doubles alpha(states.size(), 0);
  for (std::size_t s = 0; s < std::min<std::size_t>(2, states.size()); ++s) {
    alpha[s] = std::exp(logs[states[s]]);
  }
  for (std::size_t t = 1; t < scores.size() / classes; ++t) {
    Doubles next(states.size(), 0);
    for (std::size_t s = 0; s < states.size(); ++s) {
      double sum = alpha[s] + (s > 0 ? alpha[s - 1] : 0);
      if (s > 1 && states[s] != classes - 1 && states[s] != states[s - 2]) sum += alpha[s - 2];
      next[s] = sum * std::exp(logs[states[s] + classes * t]);
    }
    alpha = next;
  }
  return std::log(alpha.back() + (labels.empty() ? 0 : alpha[alpha.size() - 2]));
}

/// Scores of all steps, {classes, steps}, as a parameter.
struct Fixture {
  Fixture(unsigned classes, unsigned steps, DType dtype = DType::f64)
      : model(1, dtype), scores(model.add_parameters({classes, steps})) {
    randomise(model, 6 + steps);
  }

  Doubles doubles() const { return as_doubles(scores.values()); }

  ParameterCollection model;
  Parameter scores;
};

/// Labels of which some repeat.
Labels labels_of(unsigned count, unsigned labels) {
  Labels result;
  for (unsigned i = 0; i < count; ++i) result.push_back((i * i / 2) % labels);
  return result;
}

/// Labels of which a share repeat the one before, none of them or all.
Labels random_labels(unsigned count, unsigned labels, double repeated, Random& random) {
  Labels result;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned before = i > 0 ? result.back() : random.below(labels);
    const bool repeats = i > 0 && random.uniform() < repeated;
    result.push_back(repeats ? before : (before + 1 + random.below(labels - 1)) % labels);
  }
  return result;
}

/// The fewest steps that can spell them: repeated ones need a blank between them.
unsigned fewest_steps(const Labels& labels) {
  unsigned steps = std::max(1u, static_cast<unsigned>(labels.size()));
  for (std::size_t i = 1; i < labels.size(); ++i) steps += labels[i] == labels[i - 1];
  return steps;
}

// Where there are hardly more steps than labels, every path is at the frontier: it must be in every
// state as early as it can, and leave it as late.
TEST(CtcTest, ManyLabelsInFewStepsAndInMany) {
  Random random(4);
  for (unsigned round = 0; round < 120; ++round) {
    const unsigned classes = 3 + random.below(4), count = random.below(40);
    const double repeated = std::array{0.0, 0.0, 0.3, 1.0}[random.below(4)];
    const Labels labels = random_labels(count, classes - 1, repeated, random);
    const unsigned steps = fewest_steps(labels) + random.below(round % 4 == 0 ? 40 : 4);
    const Fixture fixture(classes, steps);
    GraphOptions options = double_options();
    options.detect_anomaly = true;  // what cannot be is still a number
    ComputationGraph graph(options);
    const Expression loss = ctc_loss(parameter(graph, fixture.scores), labels);
    const double expected = log_probability(fixture.doubles(), classes, labels);
    ASSERT_NEAR(loss.value().at(0), -expected, 1e-9)
        << round << ": " << count << " labels, " << steps << " steps, " << repeated;
    if (steps > 1 && steps == fewest_steps(labels)) {
      ASSERT_THROW(ctc_loss(pick_range(parameter(graph, fixture.scores), 0, steps - 1, 1), labels),
                   UsageError);
    }
  }
}

TEST(CtcTest, StepsMayBeExpressionsOfTheirOwn) {
  const Fixture fixture(4, 6);
  ComputationGraph graph(double_options());
  const Expression scores = parameter(graph, fixture.scores);
  std::vector<Expression> steps;
  for (unsigned t = 0; t < 6; ++t) steps.push_back(pick(scores, t, 1));
  const Labels labels = {2, 2, 0};
  EXPECT_EQ(ctc_loss(steps, labels).value().at(0), ctc_loss(scores, labels).value().at(0));
}

Expression first_steps(ComputationGraph& graph, const Fixture& fixture, unsigned steps) {
  return pick_range(own_copy(graph, fixture.scores), 0, steps, 1);
}

TEST(CtcTest, SequencesOfAllLengthsShareBatches) {
  const Fixture fixture(4, 72, DType::f32);
  const auto loss = [&](ComputationGraph& graph, unsigned count) {
    return ctc_loss(first_steps(graph, fixture, 2 * count), labels_of(count, 3));
  };
  expect_lengths_share_batches(4, loss);
  EXPECT_LE(batches_of({36, 36, 36}, loss), 6);
  EXPECT_LE(batches_of({5, 20, 36}, loss), 7);
}

TEST(CtcTest, LargeScoresDoNotOverflow) {
  for (const float size : {1e4f, -1e4f}) {
    ComputationGraph graph;
    // Two labels and the blank, all equally likely: 0 0 0, 0 0 -, 0 - -, - 0 -, ... 6 paths of 27.
    const Expression scores = constant(graph, {3, 3}, size);
    EXPECT_NEAR(ctc_loss(scores, Labels{0}).value().at(0), std::log(27.0 / 6), 1e-3);
  }
  ComputationGraph graph;
  const Expression sure = input(graph, {2, 2}, {1e4f, 0, 0, 1e4f});
  EXPECT_EQ(ctc_loss(sure, Labels{0}).value().at(0), 0);
  EXPECT_NEAR(ctc_loss(sure, Labels{}).value().at(0), 1e4, 1e-2);
}

TEST(CtcTest, GreedyFollowsTheBestPath) {
  // Classes 0, 1 and the blank.
  std::vector<float> scores = {3, 1, 0, 3, 1, 0, 0, 0, 1, 2, 2, 0, 0, 1, 0};
  EXPECT_EQ(ctc_greedy(Tensor(Dim({3, 5}), scores.data())), (Labels{0, 0, 1}));
  EXPECT_EQ(ctc_greedy(Tensor(Dim({3}), scores.data())), (Labels{0}));
  std::vector<float> blanks = {0, 1, 0, 1};
  EXPECT_EQ(ctc_greedy(Tensor(Dim({2, 2}), blanks.data())), (Labels{}));
}

// The best path spells nothing, yet one label is likelier: 0.36 against 0.64 in three paths.
TEST(CtcTest, ABeamFindsWhatTheBestPathDoesNot) {
  std::vector<double> scores;
  for (int step = 0; step < 2; ++step) {
    scores.insert(scores.end(), {std::log(0.4), std::log(0.6)});
  }
  const Tensor tensor(Dim({2, 2}), scores.data());
  EXPECT_EQ(ctc_greedy(tensor), (Labels{}));
  const std::vector<CtcLabels> found = ctc_beam(tensor, 2);
  EXPECT_EQ(found[0].labels, (Labels{0}));
  EXPECT_NEAR(found[0].log_probability, std::log(0.64), 1e-12);
}

TEST(CtcTest, EqualScoresAreEquallyLikelyHoweverLarge) {
  for (const double size : {0.0, 1e17, -1e17, 1e30, -1e30, 1e300}) {
    std::vector<double> scores(6, size);
    double probability = 0;
    for (const CtcLabels& each : ctc_beam(Tensor(Dim({3, 2}), scores.data()), 100)) {
      probability += std::exp(each.log_probability);
    }
    EXPECT_NEAR(probability, 1, 1e-12) << size;
  }
}

TEST(CtcTest, Errors) {
  ComputationGraph graph;
  const Expression scores = ones(graph, {3, 3});
  EXPECT_NO_THROW(ctc_loss(scores, Labels{1, 1}));
  EXPECT_THROW(ctc_loss(scores, Labels{0, 2}), UsageError);
  EXPECT_THROW(ctc_loss(scores, Labels{~0u}), UsageError);
  EXPECT_THROW(ctc_loss(scores, Labels{0, 1, 0, 1}), UsageError);
  EXPECT_THROW(ctc_loss(std::vector<Expression>{}, Labels{}), UsageError);
  EXPECT_THROW(ctc_loss(std::vector{scores}, Labels{}), ShapeError);
  EXPECT_THROW(ctc_loss(ones(graph, {1, 3}), Labels{}), ShapeError);
  EXPECT_THROW(ctc_loss(ones(graph, Dim({3, 3}, 2)), Labels{}), ShapeError);
  EXPECT_EQ(message_of<UsageError>([&] {
              ctc_loss(scores, Labels{1, 1, 0});
            }),
            "[ctc_log_probability] need at least 4 steps for 3 labels; got 3");
  std::vector<float> numbers(12, 0.0f);
  EXPECT_THROW(ctc_greedy(Tensor(Dim({3, 2}, 2), numbers.data())), ShapeError);
  EXPECT_THROW(ctc_greedy(Tensor(Dim({1, 2}), numbers.data())), ShapeError);
  EXPECT_THROW(ctc_beam(Tensor(Dim({3, 2, 2}), numbers.data()), 2), ShapeError);
  const Tensor tensor(Dim({3, 4}), numbers.data());
  EXPECT_THROW(ctc_beam(tensor, 0), UsageError);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const std::size_t place : {3u, 4u, 5u}) {
      numbers.assign(12, 0);
      numbers[place] = bad;
      EXPECT_THROW(ctc_greedy(tensor), NumericError);
      EXPECT_THROW(ctc_beam(tensor, 2), NumericError);
    }
  }
  numbers.assign(12, -std::numeric_limits<float>::infinity());
  EXPECT_THROW(ctc_beam(tensor, 2), NumericError);
}

/// What a path spells.
Numbers spelled(const Numbers& path, unsigned blank) {
  Numbers labels;
  for (std::size_t t = 0; t < path.size(); ++t) {
    if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) labels.push_back(path[t]);
  }
  return labels;
}

/// All paths by what they spell.
std::map<Numbers, std::vector<Places>> paths_by_labels(unsigned classes, unsigned steps) {
  std::map<Numbers, std::vector<Places>> all;
  for (const Numbers& path : all_sequences(classes, steps)) {
    Places places;
    for (unsigned t = 0; t < steps; ++t) places.push_back(path[t] + classes * t);
    all[spelled(path, classes - 1)].push_back(places);
  }
  return all;
}

class CtcEdgesTest : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, CtcEdgesTest, ::testing::Values(DType::f32, DType::f64),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// Infinite, without gradient, where no path spells the labels; NaN where a step forbids all
// classes.
TEST_P(CtcEdgesTest, LossesOfAllLabels) {
  const double error = GetParam() == DType::f32 ? 2e-4 : 1e-9;
  Random random(5);
  const GraphOptions options = {.dtype = GetParam()};
  for (const auto& [classes, steps] : {std::pair{2u, 1u}, {2u, 4u}, {3u, 1u}, {3u, 3u}, {4u, 4u}}) {
    const auto all_paths = paths_by_labels(classes, steps);
    std::vector<Places> all;
    for (const auto& [labels, paths] : all_paths) all.insert(all.end(), paths.begin(), paths.end());
    for (const double forbidden : {0.0, 0.2, 0.5, 0.8}) {
      std::vector<float> scores;
      for (unsigned i = 0; i < classes * steps; ++i) {
        const bool forbids = random.uniform() < forbidden;
        scores.push_back(forbids ? -std::numeric_limits<float>::infinity()
                                 : static_cast<float>(2 * random.normal()));
      }
      const Doubles numbers(scores.begin(), scores.end());
      const Expected total(numbers, all);
      for (const auto& [labels, paths] : all_paths) {
        ComputationGraph graph(options);
        const Expression x = input(graph, Dim({classes, steps}), scores);
        const Expression loss = ctc_loss(x, labels);
        const double got = loss.value().at(0);
        if (total.log_partition == -kInfinity) {
          EXPECT_TRUE(std::isnan(got)) << got;
          continue;
        }
        graph.backward(loss, true);
        const Expected right(numbers, paths);
        Doubles slopes(numbers.size());
        if (right.log_partition == -kInfinity) {
          EXPECT_EQ(got, kInfinity);
        } else {
          EXPECT_NEAR(got, total.log_partition - right.log_partition, error);
          for (std::size_t i = 0; i < slopes.size(); ++i) {
            slopes[i] = total.marginals[i] - right.marginals[i];
          }
        }
        expect_close(as_doubles(x.gradient()), slopes, error);
      }
    }
  }
}

// A beam with room for all beginnings finds all labels that are possible, the likeliest first.
TEST_P(CtcEdgesTest, BeamsFindAllLabelsThatArePossible) {
  Random random(6);
  const GraphOptions options = {.dtype = GetParam()};
  for (const auto& [classes, steps] : {std::pair{2u, 3u}, {3u, 1u}, {3u, 4u}}) {
    const auto all_paths = paths_by_labels(classes, steps);
    for (const double forbidden : {0.0, 0.3, 0.6, 1.0}) {
      std::vector<float> scores;
      std::vector<Places> all;
      for (unsigned i = 0; i < classes * steps; ++i) {
        const bool forbids = random.uniform() < forbidden && i % classes != i / classes % classes;
        scores.push_back(forbids ? -std::numeric_limits<float>::infinity()
                                 : static_cast<float>(2 * random.normal()));
      }
      const Doubles numbers(scores.begin(), scores.end());
      std::map<Numbers, double> right;
      for (const auto& [labels, paths] : all_paths) {
        all.insert(all.end(), paths.begin(), paths.end());
        const double sum = Expected(numbers, paths).log_partition;
        if (sum > -kInfinity) right[labels] = sum;
      }
      const double total = Expected(numbers, all).log_partition;
      ComputationGraph graph(options);
      const Tensor x = input(graph, Dim({classes, steps}), scores).value();
      const std::vector<CtcLabels> found = ctc_beam(x, 1000);
      EXPECT_EQ(found.size(), right.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i].log_probability, right.at(found[i].labels) - total, 1e-5);
        if (i > 0) {
          EXPECT_GE(found[i - 1].log_probability, found[i].log_probability);
        }
      }
      Numbers path;
      for (unsigned t = 0; t < steps; ++t) {
        const auto step = scores.begin() + t * classes;
        path.push_back(static_cast<unsigned>(std::max_element(step, step + classes) - step));
      }
      EXPECT_EQ(ctc_greedy(x), spelled(path, classes - 1));
    }
  }
}

}  // namespace
}  // namespace dynet_like::nn
