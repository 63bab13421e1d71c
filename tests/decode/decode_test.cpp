// Greedy, beam search and sampling, also where scores of -infinity forbid much, all but one action,
// the end or everything: against an enumeration of all hypotheses; losses of given actions.
#include <set>

#include "tests/decode/decoders.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

// Scores that are drawn for every beginning: here all is nearly sure, there nothing. Hypotheses
// that are behind early may then be ahead at the end.
Steps<Actions> random_steps(ComputationGraph& graph, std::uint64_t seed) {
  return steps_of([&graph, seed](const Actions& actions) {
    std::uint64_t place = seed;
    for (const unsigned action : actions) place = 31 * place + action + 1;
    Random random(place);
    const double sharpness = 12 * random.uniform();
    std::vector<float> scores(kActions);
    for (float& score : scores) score = static_cast<float>(sharpness * random.uniform());
    return input(graph, {kActions}, scores);
  });
}

constexpr double kPenalties[] = {0, 0.3, 1, 2, 4};

// A beam search by hand: sorts all continuations, and stops only when nothing is open.
template <class State>
Actions plain_beam_search(const Steps<State>& steps, const State& start, std::size_t beam,
                          std::size_t max_length, double penalty = 0) {
  struct Open {
    State state;
    Actions actions;
    double sum;
  };
  std::vector<Open> open = {{start, {}, 0}};
  Found best{{}, 0, -INFINITY, false};
  for (std::size_t length = 0; length < max_length; ++length) {
    std::vector<Open> next;
    for (const Open& each : open) {
      const std::vector<float> scores = as_vector(log_softmax(steps.scores(each.state)).value());
      for (unsigned action = 0; action < kActions; ++action) {
        Open longer = each;
        longer.actions.push_back(action);
        longer.sum += static_cast<double>(scores[action]);
        next.push_back(longer);
      }
    }
    std::stable_sort(next.begin(), next.end(),
                     [](const Open& a, const Open& b) { return a.sum > b.sum; });
    next.resize(std::min(next.size(), beam));
    open.clear();
    for (Open& each : next) {
      const unsigned last = each.actions.back();
      if (last != kEnd) {
        each.state = steps.advance(each.state, last);
        open.push_back(each);
        continue;
      }
      const double score = each.sum / std::pow((6.0 + static_cast<double>(length)) / 6.0, penalty);
      if (score <= best.score) continue;
      each.actions.pop_back();
      best = {each.actions, each.sum, score, true};
    }
  }
  return best.is_complete ? best.actions : open.front().actions;
}

TEST(BeamSearchTest, NarrowBeamsWithLengthPenalties) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    for (const double penalty : kPenalties) {
      for (const std::size_t beam : {1u, 2u, 4u, 9u}) {
        ComputationGraph graph;
        const Steps<Actions> steps = random_steps(graph, seed);
        const auto found =
            beam_search(Actions(), steps,
                        {.end = kEnd, .max_length = 8, .beam = beam, .length_penalty = penalty});
        EXPECT_EQ(found.at(0).actions, plain_beam_search(steps, Actions(), beam, 8, penalty))
            << "seed " << seed << ", beam " << beam << ", penalty " << penalty;
      }
    }
  }
}

// Scores that are the same everywhere: earlier hypotheses and lower actions come first.
TEST(BeamSearchTest, EqualScores) {
  ComputationGraph graph;
  Steps<Actions> steps = steps_of([&](const Actions&) { return zeros(graph, Dim({3})); });
  steps.is_done = [](const Actions& actions) { return actions.size() == 2; };
  const auto found = beam_search(Actions(), steps, {.beam = 5, .n_best = 4});
  std::vector<Actions> actions;
  for (const auto& each : found) {
    actions.push_back(each.actions);
    EXPECT_EQ(each.state, each.actions);
    EXPECT_NEAR(each.score, -2 * std::log(3), 1e-6);
  }
  EXPECT_EQ(actions, (std::vector<Actions>{{0, 0}, {0, 1}, {0, 2}, {1, 0}}));
  EXPECT_EQ(greedy(Actions(), steps).actions, (Actions{0, 0}));
}

TEST(BeamSearchTest, TransitionSystems) {
  const Model model;
  ComputationGraph graph;
  const Steps<Parse> steps = parser(model, graph);
  for (const std::size_t n_best : {1u, 3u, 100u}) {
    const SearchOptions options = {.beam = 1000, .n_best = n_best};
    const auto all = enumerate(Parse(), steps, options);
    EXPECT_EQ(all.size(), 8u);  // two trees of three words, two directions of each of two arcs
    expect_the_best(beam_search(Parse(), steps, options), all, n_best);
  }
  const Parse done = {0, {zeros(graph, Dim({kHidden}))}};
  const Hypothesis<Parse> nothing = greedy(done, steps);
  EXPECT_TRUE(nothing.is_complete && nothing.actions.empty());
  EXPECT_EQ(nothing.score, 0.0);
}

TEST(BeamSearchTest, ScoresAsTheyAre) {
  ComputationGraph graph;
  // The second action is never allowed; a beginning with the third pays late.
  Steps<Actions> steps = steps_of([&](const Actions& actions) {
    const bool good = !actions.empty() && actions[0] == 2;
    return input(graph, Dim({3}), {good ? 10.0f : 2.0f, 100, 1});
  });
  steps.is_done = [](const Actions& actions) { return actions.size() == 3; };
  steps.allowed = [](const Actions&) { return Actions{0, 2}; };
  const Hypothesis<Actions> first = greedy(Actions(), steps, {.normalise = false});
  EXPECT_EQ(first.actions, (Actions{0, 0, 0}));
  EXPECT_EQ(first.score, 6.0);
  const auto found = beam_search(Actions(), steps, {.beam = 2, .normalise = false});
  EXPECT_EQ(found[0].actions, (Actions{2, 0, 0}));
  EXPECT_EQ(found[0].score, 21.0);
}

TEST(BeamSearchTest, DeadEnds) {
  ComputationGraph graph;
  // After a 0 nothing is allowed, though it is the best action.
  const std::vector<float> scores = {1, 0};
  Steps<Actions> steps = steps_of([&](const Actions&) { return input(graph, Dim({2}), scores); });
  steps.is_done = [](const Actions& actions) { return actions.size() == 2 && actions[0] == 1; };
  steps.allowed = [](const Actions& actions) {
    return !actions.empty() && actions[0] == 0 ? Actions{} : Actions{0, 1};
  };
  EXPECT_EQ(beam_search(Actions(), steps, {.beam = 2}).at(0).actions, (Actions{1, 0}));
  Random random(1);
  for (const std::string& said :
       {message_of<UsageError>([&] { beam_search(Actions(), steps, {.beam = 1}); }),
        message_of<UsageError>([&] { greedy(Actions(), steps); })}) {
    EXPECT_NE(said.find("got none for any after 1 action"), std::string::npos) << said;
  }
  steps.allowed = [](const Actions& actions) { return actions.empty() ? Actions{0} : Actions{}; };
  EXPECT_THROW(sample(Actions(), steps, random), UsageError);
  EXPECT_THROW(samples(Actions(), steps, 3, random), UsageError);
}

TEST(BeamSearchTest, Ensembles) {
  const Model a(1), b(2);
  ComputationGraph graph;
  const auto start = [&](const Model& model) { return model.start(graph, 3); };
  const Steps<std::vector<LSTM::State>> both = ensemble<LSTM::State>({a.steps(), b.steps()});
  const SearchOptions options = {.end = kEnd, .max_length = 4, .beam = 1000, .n_best = 7};
  // The mean of the probabilities, by hand.
  Steps<std::vector<LSTM::State>> by_hand = both;
  by_hand.scores = [&](const std::vector<LSTM::State>& states) {
    const Expression p = softmax(a.steps().scores(states[0]));
    return log((p + softmax(b.steps().scores(states[1]))) / 2.0f);
  };
  const std::vector<LSTM::State> starts = {start(a), start(b)};
  const auto all = enumerate(starts, by_hand, options);
  expect_the_best(beam_search(starts, both, options), all, 7);
  const auto one = ensemble<LSTM::State>({a.steps()});
  EXPECT_EQ(greedy(std::vector{start(a)}, one, options).actions,
            greedy(start(a), a.steps(), options).actions);
  EXPECT_NE(greedy(starts, both, options).score, greedy(start(a), a.steps(), options).score);
  EXPECT_THROW(ensemble(std::vector<Steps<LSTM::State>>()), UsageError);
  EXPECT_THROW(ensemble(std::vector<BatchedSteps<LSTM::State>>()), UsageError);
}

TEST(SamplingTest, HasTheFrequenciesOfTheModel) {
  const Model model;
  ComputationGraph graph;
  const LSTM::State start = model.start(graph, 2);
  SearchOptions options = {.end = kEnd, .max_length = 3};
  Random random(9);
  constexpr unsigned kDraws = 20'000;
  std::map<Actions, double> shares;
  const auto drawn = samples(start, model.steps(), kDraws, random, options);
  ASSERT_EQ(drawn.size(), kDraws);
  for (const auto& each : drawn) shares[each.actions] += 1.0 / kDraws;
  for (const Found& each : enumerate(start, model.steps(), options)) {
    const double p = std::exp(each.score);
    EXPECT_NEAR(shares[each.actions], p, 5 * std::sqrt(p / kDraws) + 1e-3);
  }
  // Colder ones are the best one.
  options.temperature = 0.01f;
  const auto best = greedy(start, model.steps(), {.end = kEnd, .max_length = 3});
  EXPECT_EQ(sample(start, model.steps(), random, options).actions, best.actions);
}

// What a sample finds, whoever else searches beside it.
struct Outcome {
  std::vector<Actions> actions;
  std::vector<double> scores;

  template <class State>
  void add(const Hypothesis<State>& found) {
    actions.push_back(found.actions);
    scores.push_back(found.score);
  }
  bool operator==(const Outcome&) const = default;
};

Outcome decode_in_every_way(const Model& model, ComputationGraph& graph, std::size_t i) {
  Outcome outcome;
  const LSTM::State start = model.start(graph, i);
  const SearchOptions options = {
      .end = kEnd, .max_length = 4 + i % 5, .beam = 1 + i % 4, .n_best = 3, .length_penalty = 0.5};
  outcome.add(greedy(start, model.steps(), options));
  for (const auto& found : beam_search(start, model.steps(), options)) outcome.add(found);
  Random random(7, std::uint64_t{i} << 32);
  for (const auto& found : samples(start, model.steps(), 3, random, options)) outcome.add(found);
  for (const auto& found : beam_search(start, model.batched_steps(), options)) outcome.add(found);
  for (const auto& found : samples(start, model.batched_steps(), 3, random, options)) {
    outcome.add(found);
  }
  outcome.add(greedy(Parse{static_cast<unsigned>(i % 4) + 1, {}}, parser(model, graph)));
  return outcome;
}

TEST(DecodeTest, TheSameWithAnyCompanions) {
  const Model model;
  std::vector<Outcome> alone;
  for (std::size_t i = 0; i < 17; ++i) {
    ComputationGraph graph;
    alone.push_back(decode_in_every_way(model, graph, i));
  }
  for (unsigned threads : {1u, 3u}) {
    for (bool inference : {false, true}) {
      for (const std::size_t count : {1u, 5u, 17u}) {
        Minibatch batch({.threads = threads, .inference = inference});
        const auto together =
            for_each_sample(batch, count, [&](ComputationGraph& graph, std::size_t i) {
              return decode_in_every_way(model, graph, i);
            });
        EXPECT_EQ(together, std::vector(alone.begin(), alone.begin() + static_cast<long>(count)));
      }
    }
  }
}

// A step asks once, however many hypotheses there are.
TEST(DecodeTest, HypothesesShareAWave) {
  const Model model(1, 0.1f);
  Minibatch batch;
  for_each_sample(batch, 6, [&](ComputationGraph& graph, std::size_t i) {
    beam_search(model.start(graph, i), model.steps(), {.max_length = 5, .beam = 8});
  });
  const NodesAndBatches softmax = log_softmax_of(batch.explain());
  EXPECT_EQ(softmax.batches, 5u);
  EXPECT_EQ(softmax.nodes, 6u * (1 + 4 + 8 + 8 + 8));
}

TEST(DecodeTest, MaskedScoresInALoss) {
  ComputationGraph graph;
  const Expression x = input(graph, Dim({4}), {1, 7, 2, 3});
  const Expression loss = cross_entropy(masked(x, {0, 3}), 3);
  graph.backward(loss, true);
  const double p = 1 / (1 + std::exp(-2.0));
  EXPECT_NEAR(as_scalar(loss.value()), -std::log(p), 1e-6);
  const std::vector<float> slopes = as_vector(x.gradient());
  EXPECT_NEAR(slopes[0], 1 - p, 1e-6);
  EXPECT_EQ(slopes[1], 0);
  EXPECT_EQ(slopes[2], 0);
  EXPECT_NEAR(slopes[3], p - 1, 1e-6);
  EXPECT_THROW(masked(x, {4}), UsageError);
}

TEST(DecodeTest, WhatMakesNoSense) {
  const Model model;
  ComputationGraph graph;
  const LSTM::State start = model.start(graph, 0);
  const auto search = [&](const SearchOptions& options) {
    return beam_search(start, model.steps(), options).size();
  };
  EXPECT_THROW(search({.beam = 0}), UsageError);
  EXPECT_THROW(search({.n_best = 0}), UsageError);
  EXPECT_THROW(search({.length_penalty = -1}), UsageError);
  EXPECT_THROW(search({.temperature = 0}), UsageError);
  EXPECT_THROW(search({.length_penalty = 1, .normalise = false}), UsageError);
  // What would divide zero by zero, or by infinity.
  EXPECT_EQ(message_of<UsageError>([&] { search({.max_length = 0, .length_penalty = 1e5}); }),
            "[decode] need a length_penalty A such that ((5 + n) / 6)^A is a number above 0 for "
            "lengths n from 0 to 0; got 100000");
  EXPECT_THROW(search({.max_length = 100, .length_penalty = 1000}), UsageError);
  EXPECT_EQ(greedy(start, model.steps(), {.max_length = 0, .length_penalty = 1000}).score, 0);
  EXPECT_EQ(message_of<UsageError>([&] { greedy(start, model.steps(), {.temperature = 1e-45f}); }),
            "[decode] need a temperature from 1e-20; got 1.4013e-45");
  EXPECT_EQ(search({.max_length = 2, .temperature = 1e-20f}), 1u);
  EXPECT_EQ(message_of<ShapeError>([&] { search({.end = 4}); }),
            "[decode] need a column with the scores of all actions, the end 4; got {4}");
  Steps<LSTM::State> steps = model.steps();
  steps.scores = [&](const auto&) { return input(graph, Dim({4}), {0, 0, NAN, 0}); };
  EXPECT_EQ(message_of<NumericError>([&] { greedy(start, steps, {.normalise = false}); }),
            "[decode] need scores that are numbers below infinity; got nan for action 2");
  EXPECT_THROW(greedy(start, steps), NumericError);
  steps.scores = [&](const auto&) { return zeros(graph, Dim({2, 2})); };
  EXPECT_THROW(greedy(start, steps), ShapeError);
}

struct DecoderLosses : ::testing::Test {
  ParameterCollection model{1};
  const Embedding words{model, 7, 4};
  const LSTM lstm{model, 4, 5};
  const Linear output{model, 5, 7};
  ComputationGraph graph;
  Steps<LSTM::State> steps = {
      .scores = [this](const auto& state) { return output(state.h); },
      .advance = [this](const auto& state,
                        unsigned word) { return lstm.step(state, words(graph, word)); }};
};

TEST_F(DecoderLosses, AreThoseOfTheLoopByHand) {
  const std::vector<unsigned> actions = {3, 6, 0, 3};
  const std::vector<Expression> found = losses(lstm.start(graph), steps, actions);
  ASSERT_EQ(found.size(), actions.size());
  LSTM::State state = lstm.start(graph);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    EXPECT_EQ(as_scalar(found[i].value()),
              as_scalar(cross_entropy(output(state.h), actions[i]).value()));
    state = lstm.step(state, words(graph, actions[i]));
  }
  EXPECT_TRUE(losses(lstm.start(graph), steps, {}).empty());
  EXPECT_THROW(losses(lstm.start(graph), steps, {7}), UsageError);
}

TEST_F(DecoderLosses, GiveNoProbabilityToWhatIsForbidden) {
  steps.allowed = [](const auto&) { return std::vector<unsigned>{2, 4}; };
  double sum = 0;
  for (const unsigned action : {2u, 4u}) {
    sum += std::exp(-as_doubles(losses(lstm.start(graph), steps, {action})[0].value())[0]);
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_EQ(as_scalar(losses(lstm.start(graph), steps, {3})[0].value()),
            std::numeric_limits<float>::infinity());
  steps.scores = nullptr;
  EXPECT_THROW(losses(lstm.start(graph), steps, {2}), UsageError);
}

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
