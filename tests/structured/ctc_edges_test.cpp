// CTC where scores are -infinity: losses of all labels, and what decoders find, against all paths.
#include <map>

#include "nn/structured/ctc.h"
#include "tests/structured/problem.h"

namespace dynet_like::nn {
namespace {

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
