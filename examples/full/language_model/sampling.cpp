// Draws units from the softmax, one after the other, since each depends on the last.
#include "examples/full/language_model/sampling.h"

#include <numeric>

namespace dynet_like::examples {

namespace {

/// Returns i with a probability proportional to weights[i].
std::uint32_t draw(const std::vector<float>& weights, Random& random) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double left = random.uniform() * total;
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    last = i;
    left -= static_cast<double>(weights[i]);
    if (left < 0) break;
  }
  return last;
}

}  // namespace

std::vector<std::uint32_t> sample(const LanguageModel& model, std::span<const std::uint32_t> prompt,
                                  const SamplingOptions& options, Random& random) {
  GraphOptions graph_options;
  graph_options.inference = true;
  ComputationGraph graph(graph_options);
  LanguageModel::State state = model.start(graph);
  for (const std::uint32_t unit : prompt) state = model.step(graph, state, unit);
  std::vector<std::uint32_t> units;
  while (units.size() < options.count) {
    const Expression scores = model.scores(state);
    std::vector<float> weights = as_vector(softmax(scores / options.temperature).value());
    if (options.never) weights.at(*options.never) = 0;
    units.push_back(draw(weights, random));
    state = model.step(graph, state, units.back());
  }
  return units;
}

}  // namespace dynet_like::examples
