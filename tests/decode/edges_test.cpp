// Searches where scores of -infinity forbid much, all but one action, the end or everything:
// against an enumeration of all hypotheses.
#include <set>

#include "tests/decode/decoders.h"

#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

/// Scores that follow from the actions before, at least one of them possible.
std::vector<float> scores_after(const Actions& actions, std::uint64_t seed, double forbidden,
                                bool may_end) {
  for (const unsigned action : actions) seed = 31 * seed + action + 1;
  Random random(seed);
  const auto possible = static_cast<unsigned>(random.below(kActions));
  // Here all is nearly sure, there nothing: what is behind early may be ahead at the end.
  const double sharpness = 6 * random.uniform();
  std::vector<float> scores(kActions);
  for (unsigned i = 0; i < kActions; ++i) {
    const bool forbids = random.uniform() < forbidden;
    scores[i] = i != possible && forbids ? kNever : static_cast<float>(sharpness * random.normal());
  }
  if (!may_end) {
    if (possible == kEnd) scores[0] = 0;
    scores[kEnd] = kNever;
  }
  return scores;
}

struct Setting {
  std::uint64_t seed = 0;
  double forbidden = 0;
  bool may_end = true;

  std::vector<float> scores(const Actions& actions) const {
    return scores_after(actions, seed, forbidden, may_end);
  }
  Steps<Actions> steps(ComputationGraph& graph) const {
    return steps_of([setting = *this, &graph](const Actions& actions) {
      return input(graph, {kActions}, setting.scores(actions));
    });
  }
};

template <class F>
void for_each_setting(const F& f) {
  for (const double forbidden : {0.0, 0.5, 0.8, 1.0}) {
    for (const bool may_end : {true, false}) {
      for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const Setting setting = {seed, forbidden, may_end};
        for (const std::size_t max_length : {0u, 1u, 4u}) f(setting, max_length);
      }
    }
  }
}

TEST(DecodeEdgesTest, WideBeamsFindAllThatIsPossible) {
  for_each_setting([](const Setting& setting, std::size_t max_length) {
    ComputationGraph graph;
    SearchOptions options = {.end = kEnd, .max_length = max_length, .beam = 1000};
    const Steps<Actions> steps = setting.steps(graph);
    for (const double penalty : {0.0, 0.3, 1.0, 2.0, 4.0}) {
      options.length_penalty = penalty;
      const std::vector<Found> all = enumerate(Actions(), steps, options);
      for (const std::size_t n_best : {1u, 3u, 1000u}) {
        options.n_best = n_best;
        expect_the_best(beam_search(Actions(), steps, options), all, n_best);
      }
    }
  });
}

TEST(DecodeEdgesTest, GreedyTakesTheBestOfWhatIsPossible) {
  for_each_setting([](const Setting& setting, std::size_t max_length) {
    Actions actions;
    bool is_complete = false;
    for (std::size_t length = 0; length < max_length && !is_complete; ++length) {
      const std::vector<float> scores = setting.scores(actions);
      const auto best = static_cast<unsigned>(std::ranges::max_element(scores) - scores.begin());
      is_complete = best == kEnd;
      if (!is_complete) actions.push_back(best);
    }
    ComputationGraph graph;
    for (const bool normalise : {false, true}) {
      const auto found = greedy(Actions(), setting.steps(graph),
                                {.end = kEnd, .max_length = max_length, .normalise = normalise});
      EXPECT_EQ(found.actions, actions);
      EXPECT_EQ(found.is_complete, is_complete);
    }
  });
}

TEST(DecodeEdgesTest, SamplesAreWhatIsPossible) {
  Random random(3);
  for_each_setting([&](const Setting& setting, std::size_t max_length) {
    ComputationGraph graph;
    const SearchOptions options = {.end = kEnd, .max_length = max_length};
    const Steps<Actions> steps = setting.steps(graph);
    std::set<std::pair<Actions, bool>> possible;
    for (const Found& each : enumerate(Actions(), steps, options)) {
      possible.insert({each.actions, each.is_complete});
    }
    for (const auto& drawn : samples(Actions(), steps, 8, random, options)) {
      EXPECT_TRUE(possible.contains({drawn.actions, drawn.is_complete}));
    }
  });
}

// What `allowed` leaves out is as what a score of -infinity forbids, and a way to say that nothing
// is left: scores of -infinity alone have no softmax.
TEST(DecodeEdgesTest, NothingIsLeft) {
  ComputationGraph graph;
  Steps<Actions> steps = Setting{}.steps(graph);
  const auto scores = steps.scores;
  steps.scores = [&](const Actions& actions) {
    if (actions != Actions{0}) return scores(actions);
    return constant(graph, Dim({kActions}), kNever);
  };
  const SearchOptions plain = {.max_length = 3, .beam = 1000, .n_best = 1000, .normalise = false};
  for (const auto& found : beam_search(Actions(), steps, plain)) EXPECT_NE(found.actions[0], 0u);
  EXPECT_EQ(beam_search(Actions(), steps, plain).size(), 3u * kActions * kActions);
  EXPECT_THROW(beam_search(Actions(), steps, {.beam = 1000}), NumericError);
  steps.allowed = [](const Actions& actions) {
    return actions == Actions{0} ? Actions() : Actions{0, 1, 2, 3};
  };
  const SearchOptions logarithms = {.max_length = 3, .beam = 1000, .n_best = 1000};
  EXPECT_EQ(beam_search(Actions(), steps, logarithms).size(), 3u * kActions * kActions);
}

// Exactly on the limits of the options.
TEST(DecodeEdgesTest, OptionsOnTheirLimits) {
  ComputationGraph graph;
  const Setting setting;
  const Steps<Actions> steps = setting.steps(graph);
  for (const SearchOptions& options :
       {SearchOptions{.max_length = 2, .temperature = 1e-20f}, SearchOptions{.max_length = 1},
        SearchOptions{.max_length = 0}, SearchOptions{.max_length = 2, .length_penalty = 0}}) {
    const auto found = greedy(Actions(), steps, options);
    EXPECT_EQ(found.actions.size(), options.max_length);
    EXPECT_EQ(beam_search(Actions(), steps, options).at(0).actions, found.actions);
  }
  EXPECT_THROW(greedy(Actions(), steps, {.temperature = std::nextafter(1e-20f, 0.0f)}), UsageError);
  EXPECT_NO_THROW(greedy(Actions(), steps, {.end = kActions - 1, .max_length = 1}));
  EXPECT_THROW(greedy(Actions(), steps, {.end = kActions, .max_length = 1}), ShapeError);
}

}  // namespace
}  // namespace dynet_like::nn
