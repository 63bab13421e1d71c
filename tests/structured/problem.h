// Scores of which some are -infinity, all structures that they are the scores of, and what losses
// and decoders must say of them.
#pragma once

#include "tests/support/layers.h"

namespace dynet_like::nn {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Numbers = std::vector<unsigned>;

/// The scores that a structure is the sum of, by their places among all.
using Places = std::vector<std::size_t>;

/// Gradients where nothing is possible.
enum class Slopes { zero, numbers, any };

/// Scores, which are the parameters of a model, all structures, and what a model makes of them.
struct Problem {
  explicit Problem(DType dtype) : model(1, dtype) { options.dtype = dtype; }

  ParameterCollection model;
  GraphOptions options;
  std::vector<Places> structures;
  Places not_read;  ///< scores of no structure, which may be NaN
  std::function<Expression(ComputationGraph&)> log_partition;
  /// Of one structure.
  std::function<Expression(ComputationGraph&, std::size_t)> loss;
  /// The best structure; the places may come in any order. Throws if all are forbidden.
  std::function<Places(ComputationGraph&)> best;
  Slopes slopes_of_nothing = Slopes::zero;

  Parameter add(const Dim& dim, const std::string& name) {
    return model.add_parameters(dim, ParameterInitConst(0), name);
  }
  /// Where the scores of a parameter begin.
  std::size_t first(const std::string& name) const {
    std::size_t first = 0;
    for (const auto& storage : model.storages()) {
      if (storage->name == name) return first;
      first += storage->size();
    }
    throw UsageError("no parameter " + name);
  }
  std::size_t size() const {
    std::size_t size = 0;
    for (const auto& storage : model.storages()) size += storage->size();
    return size;
  }
  void set(const Doubles& scores) const {
    std::size_t next = 0;
    for (const auto& storage : model.storages()) {
      for (std::size_t i = 0; i < storage->size(); ++i) storage->tensor().set(i, scores[next++]);
      storage->values_written();
    }
  }
  Doubles gradient(ComputationGraph& graph, const Expression& loss) const {
    Gradients gradients;
    graph.backward(loss, gradients);
    Doubles all;
    for (const auto& storage : model.storages()) {
      Doubles own = gradients.all_doubles(*storage);
      own.resize(storage->size());
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }
};

inline double score_of(const Doubles& scores, const Places& structure) {
  double sum = 0;
  for (const std::size_t place : structure) sum += scores[place];
  return sum;
}

/// ln of the sum of e^score over structures, and how likely each score is in one.
struct Expected {
  double log_partition = -kInfinity;
  Doubles marginals;

  Expected(const Doubles& scores, const std::vector<Places>& structures)
      : marginals(scores.size()) {
    double top = -kInfinity, sum = 0;
    for (const Places& each : structures) top = std::max(top, score_of(scores, each));
    if (top == -kInfinity) return;
    for (const Places& each : structures) sum += std::exp(score_of(scores, each) - top);
    log_partition = top + std::log(sum);
    for (const Places& each : structures) {
      const double share = std::exp(score_of(scores, each) - log_partition);
      for (const std::size_t place : each) marginals[place] += share;
    }
  }
};

inline void expect_close(const Doubles& got, const Doubles& expected, double error) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], error) << i;
}

inline void expect_finite(const Doubles& numbers) {
  for (const double number : numbers) EXPECT_TRUE(std::isfinite(number)) << number;
}

/// Any numbers or few whole ones, of which this share is -infinity.
inline Doubles draw(const Problem& problem, bool whole, double forbidden, Random& random) {
  Doubles scores;
  for (std::size_t i = 0; i < problem.size(); ++i) {
    const double score = whole ? random.below(3) : 2 * random.normal();
    scores.push_back(random.uniform() < forbidden ? -kInfinity : score);
  }
  for (const std::size_t place : problem.not_read) scores[place] = std::nan("");
  return scores;
}

inline void check_losses(const Problem& problem, const Doubles& scores, double error,
                         Random& random) {
  const Expected expected(scores, problem.structures);
  const bool is_possible = expected.log_partition > -kInfinity;
  ComputationGraph graph(problem.options);
  const Expression log_partition = problem.log_partition(graph);
  const double got = log_partition.value().at(0);
  if (is_possible) {
    EXPECT_NEAR(got, expected.log_partition, error);
  } else {
    EXPECT_EQ(got, -kInfinity);
  }
  if (is_possible) {
    expect_close(problem.gradient(graph, log_partition), expected.marginals, error);
  } else if (problem.slopes_of_nothing != Slopes::any) {
    const Doubles slopes = problem.gradient(graph, log_partition);
    expect_finite(slopes);
    if (problem.slopes_of_nothing == Slopes::zero) {
      EXPECT_EQ(slopes, Doubles(slopes.size()));
    }
  }
  const auto gold = random.below(static_cast<unsigned>(problem.structures.size()));
  const Places& structure = problem.structures[gold];
  const double score = score_of(scores, structure);
  const Expression loss = problem.loss(graph, gold);
  const double of_gold = loss.value().at(0);
  if (!is_possible) {
    EXPECT_TRUE(std::isnan(of_gold)) << of_gold;
    return;
  }
  const Doubles slopes = problem.gradient(graph, loss);
  if (score == -kInfinity) {
    EXPECT_EQ(of_gold, kInfinity);
    expect_finite(slopes);
    return;
  }
  EXPECT_NEAR(of_gold, expected.log_partition - score, error);
  Doubles right = expected.marginals;
  for (const std::size_t place : structure) --right[place];
  expect_close(slopes, right, error);
}

/// Of equal structures, the first in the list is the best one.
inline void check_best(const Problem& problem, const Doubles& scores, bool is_first) {
  const Places* best = nullptr;
  double most = -kInfinity;
  for (const Places& each : problem.structures) {
    if (score_of(scores, each) <= most) continue;
    most = score_of(scores, each);
    best = &each;
  }
  ComputationGraph graph(problem.options);
  if (best == nullptr) {
    EXPECT_THROW(problem.best(graph), UsageError);
    return;
  }
  Places found = problem.best(graph), right = *best;
  EXPECT_NEAR(score_of(scores, found), most, 1e-4);
  std::ranges::sort(found);
  std::ranges::sort(right);
  if (is_first) {
    EXPECT_EQ(found, right);
  } else {
    EXPECT_TRUE(std::ranges::any_of(problem.structures, [&](Places each) {
      std::ranges::sort(each);
      return each == found;
    }));
  }
}

/// A NaN among the scores of some structure is not hidden, whatever is forbidden.
inline void check_nan(const Problem& problem, Doubles scores, Random& random) {
  const auto any = [&](const auto& list) {
    return list[random.below(static_cast<unsigned>(list.size()))];
  };
  const std::size_t place = any(any(problem.structures));
  scores[place] = std::nan("");
  problem.set(scores);
  ComputationGraph graph(problem.options);
  EXPECT_TRUE(std::isnan(problem.log_partition(graph).value().at(0))) << place;
}

/// With no score forbidden up to all of them.
inline void check(const std::function<Problem(DType)>& make, bool best_is_first = true) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Problem problem = make(dtype);
    Random random(problem.size());
    const double error = dtype == DType::f32 ? 2e-4 : 1e-9;
    for (const double forbidden : {0.0, 0.1, 0.3, 0.6, 0.9, 1.0}) {
      for (int i = 0; i < 6; ++i) {
        for (const bool whole : {false, true}) {
          const Doubles scores = draw(problem, whole, forbidden, random);
          problem.set(scores);
          check_losses(problem, scores, error, random);
          if (problem.best) check_best(problem, scores, best_is_first);
          check_nan(problem, scores, random);
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

/// All sequences of so many numbers below `n`, the first number changing fastest.
inline std::vector<Numbers> all_sequences(unsigned n, unsigned length) {
  std::vector<Numbers> all = {{}};
  for (unsigned t = 0; t < length; ++t) {
    std::vector<Numbers> longer;
    for (unsigned last = 0; last < n; ++last) {
      for (Numbers each : all) {
        each.push_back(last);
        longer.push_back(std::move(each));
      }
    }
    all = std::move(longer);
  }
  return all;
}

/// All trees over these words, a span before its parts: the first labels and the shortest left
/// parts come first, from the whole down.
inline std::vector<std::vector<LabelledSpan>> all_span_trees(unsigned start, unsigned end,
                                                             unsigned labels) {
  std::vector<std::vector<LabelledSpan>> trees;
  for (unsigned label = 0; label < labels; ++label) {
    if (end - start == 1) trees.push_back({{start, end, label}});
    for (unsigned middle = start + 1; middle < end; ++middle) {
      for (const auto& left : all_span_trees(start, middle, labels)) {
        for (const auto& right : all_span_trees(middle, end, labels)) {
          auto& tree = trees.emplace_back();
          tree.push_back({start, end, label});
          tree.insert(tree.end(), left.begin(), left.end());
          tree.insert(tree.end(), right.begin(), right.end());
        }
      }
    }
  }
  return trees;
}

}  // namespace dynet_like::nn
