// Searches while memory is out: after `clear` the same graph or minibatch finds the same.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/nn.h"
#include "tests/decode/decoders.h"
#include "tests/failing/failing_allocations.h"

namespace dynet_like::nn {
namespace {

// What searches found: numbers of actions, actions, and bits of scores.
using Found = std::vector<double>;

template <class State>
void add(Found& all, const Hypothesis<State>& found) {
  all.push_back(static_cast<double>(found.actions.size()));
  all.insert(all.end(), found.actions.begin(), found.actions.end());
  all.push_back(found.sum);
}

struct World {
  explicit World(unsigned threads) {
    GraphOptions options;
    options.threads = threads;
    options.inference = true;
    options.stack_bytes = std::size_t{128} << 10;
    batch.emplace(options);
  }

  Found search(ComputationGraph& graph, std::size_t sample) const {
    const SearchOptions options = {.end = kEnd, .max_length = 3, .beam = 2, .n_best = 2};
    Found all;
    const LSTM::State start = model.start(graph, sample);
    for (const auto& found : beam_search(start, model.batched_steps(), options)) add(all, found);
    for (const auto& found : beam_search(Parse{2, {}}, parser(model, graph))) add(all, found);
    add(all, greedy(start, model.steps(), options));
    Random random(sample);
    for (const auto& found : samples(start, model.steps(), 2, random, options)) add(all, found);
    return all;
  }
  std::vector<Found> run() {
    batch->clear();
    return for_each_sample(
        *batch, 2, [&](ComputationGraph& graph, std::size_t i) { return search(graph, i); });
  }

  Model model;
  std::optional<Minibatch> batch;
};

TEST(FailingSearches, LeaveAMinibatchAsGoodAsNew) {
  for (const unsigned threads : {1u, 2u}) {
    failing::expect_as_good_as_new([=] { return std::make_unique<World>(threads); },
                                   [](World& world) { return world.run(); });
  }
}

TEST(FailingSearches, LeaveAGraphAsGoodAsNew) {
  struct Alone : World {
    Alone() : World(1) {}
    ComputationGraph graph;
  };
  failing::expect_as_good_as_new([] { return std::make_unique<Alone>(); },
                                 [](Alone& world) {
                                   world.graph.clear();
                                   return world.search(world.graph, 1);
                                 });
}

}  // namespace
}  // namespace dynet_like::nn
