// Word-synchronous beam search: a generative parser with random weights, beside the algorithm
// written down plainly, which computes the scores of every hypothesis from the beginning.
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

using Actions = std::vector<unsigned>;

constexpr unsigned kHidden = 8, kOpen = 0, kClose = 1, kWord = 2, kActions = 3;

/// Brackets around words, none of them empty. The next word, which is known, is an action.
struct Grammar {
  struct State {
    LSTM::State lstm;
    unsigned read = 0, depth = 0;
    bool has_opened = false;  ///< with the last action
  };

  explicit Grammar(std::uint64_t seed, unsigned length = 4) : parameters(seed), words(length) {}

  State start(ComputationGraph& graph) const {
    return {lstm.step(lstm.start(graph), inputs(graph, kActions))};
  }
  Steps<State> steps() const {
    return {
        .scores = [this](const State& state) { return output(state.lstm.h) * 4.0f; },
        .advance =
            [this](State state, unsigned action) {
              const Expression x = inputs(state.lstm.h.graph("test"), action);
              state.lstm = lstm.step(state.lstm, x);
              state.read += action == kWord ? 1 : 0;
              state.has_opened = action == kOpen;
              state.depth += action == kOpen ? 1 : action == kClose ? -1u : 0;
              return state;
            },
        .is_done = [this](const State& state) { return state.read == words && state.depth == 0; },
        .allowed =
            [this](const State& state) {
              Actions allowed;
              if (state.read < words && state.depth < 3) allowed.push_back(kOpen);
              if (!state.has_opened && (state.depth > 1 || state.read == words))
                allowed.push_back(kClose);
              if (state.read < words && state.depth > 0) allowed.push_back(kWord);
              return allowed;
            },
        .is_word = [](const State&, unsigned action) { return action == kWord; }};
  }

  ParameterCollection parameters;
  unsigned words;
  Embedding inputs{parameters, kActions + 1, kHidden, {.init = ParameterInitNormal()}};
  LSTM lstm{parameters, kHidden, kHidden};
  Linear output{parameters, kHidden, kActions};
};

struct Plain {
  Actions actions;
  double sum = 0;
};

/// The algorithm, without any sharing.
class PlainSearch {
 public:
  PlainSearch(const Grammar& grammar, const SearchOptions& options)
      : steps_(grammar.steps()), grammar_(grammar), options_(options) {}

  /// The best that is done.
  Plain best() {
    std::vector<Plain> open = {{}}, done;
    while (!open.empty()) {
      std::vector<Plain> waiting;
      while (!open.empty() && waiting.size() < options_.beam) {
        const std::vector<Plain> all = continuations(open);
        open.clear();
        std::size_t words = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
          const bool is_word = all[i].actions.back() == kWord;
          if (i >= options_.beam && !(is_word && words < options_.fast_track)) continue;
          words += is_word ? 1 : 0;
          (is_word ? waiting : is_done(all[i]) ? done : open).push_back(all[i]);
        }
      }
      if (!waiting.empty()) open = std::move(waiting);
      sort(open);
      open.resize(std::min(open.size(), options_.word_beam));
    }
    sort(done);
    return done.at(0);
  }

 private:
  static void sort(std::vector<Plain>& all) {
    std::ranges::stable_sort(all, std::greater<>{}, &Plain::sum);
  }
  Grammar::State state_after(ComputationGraph& graph, const Actions& actions) const {
    Grammar::State state = grammar_.start(graph);
    for (const unsigned action : actions) state = steps_.advance(state, action);
    return state;
  }
  bool is_done(const Plain& one) const {
    ComputationGraph graph;
    return steps_.is_done(state_after(graph, one.actions));
  }
  std::vector<Plain> continuations(const std::vector<Plain>& open) const {
    std::vector<Plain> all;
    for (const Plain& one : open) {
      ComputationGraph graph;
      const Grammar::State state = state_after(graph, one.actions);
      const Actions allowed = steps_.allowed(state);
      const auto scores = as_vector(log_softmax(masked(steps_.scores(state), allowed)).value());
      for (const unsigned action : allowed) {
        all.push_back({one.actions, one.sum + static_cast<double>(scores[action])});
        all.back().actions.push_back(action);
      }
    }
    sort(all);
    return all;
  }

  Steps<Grammar::State> steps_;
  const Grammar& grammar_;
  const SearchOptions& options_;
};

class WordBeamTest : public ::testing::TestWithParam<SearchOptions> {};

TEST_P(WordBeamTest, FindsWhatTheAlgorithmFinds) {
  const SearchOptions options = GetParam();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Grammar grammar(seed);
    const Plain expected = PlainSearch(grammar, options).best();
    ComputationGraph graph({.inference = seed % 2 == 0});
    const auto found = beam_search(grammar.start(graph), grammar.steps(), options);
    ASSERT_TRUE(found[0].is_complete);
    EXPECT_EQ(found[0].actions, expected.actions) << seed;
    EXPECT_EQ(found[0].sum, expected.sum) << seed;
    EXPECT_EQ(std::ranges::count(found[0].actions, kWord), grammar.words);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, WordBeamTest,
    ::testing::Values(SearchOptions{.beam = 1, .word_beam = 1},
                      SearchOptions{.beam = 4, .word_beam = 1},
                      SearchOptions{.beam = 4, .word_beam = 4},
                      SearchOptions{.beam = 3, .word_beam = 2, .fast_track = 1},
                      SearchOptions{.beam = 6, .word_beam = 3, .fast_track = 2}),
    [](const auto& info) {
      return std::to_string(info.param.beam) + "_" + std::to_string(info.param.word_beam) + "_" +
             std::to_string(info.param.fast_track);
    });

// A word costs more than a bracket: an ordinary beam is full of hypotheses that put it off.
TEST(WordBeam, RareWordsAreNotPutOff) {
  ComputationGraph graph;
  const Steps<Actions> steps = {
      .scores =
          [&](const Actions&) {
            return input(graph, Dim({kActions}), {-0.1f, -0.2f, -6.0f});
          },
      .advance =
          [](Actions actions, unsigned action) {
            actions.push_back(action);
            return actions;
          },
      .is_done = [](const Actions& actions) { return std::ranges::count(actions, kWord) == 2; },
      .is_word = [](const Actions&, unsigned action) { return action == kWord; }};
  SearchOptions options = {.max_length = 50, .beam = 2, .normalise = false};
  EXPECT_FALSE(beam_search(Actions{}, steps, options)[0].is_complete);
  options.word_beam = options.fast_track = 1;
  const auto found = beam_search(Actions{}, steps, options)[0];
  EXPECT_TRUE(found.is_complete);
  EXPECT_EQ(found.actions, (Actions{kWord, kWord}));
  EXPECT_EQ(found.sum, -12);
}

// Of samples that search together each finds what it finds alone.
TEST(WordBeam, TogetherAsAlone) {
  const Grammar grammar(3, 6);
  const SearchOptions options = {.beam = 5, .word_beam = 3, .fast_track = 1, .n_best = 3};
  const auto find = [&](Minibatch& batch, std::size_t samples) {
    return for_each_sample(batch, samples, [&](ComputationGraph& graph, std::size_t i) {
      Grammar::State start = grammar.start(graph);
      for (std::size_t k = 0; k < i; ++k) start = grammar.steps().advance(start, kOpen);
      start.depth = 0;
      std::vector<std::pair<Actions, double>> found;
      for (const auto& one : beam_search(start, grammar.steps(), options)) {
        found.emplace_back(one.actions, one.sum);
      }
      return found;
    });
  };
  Minibatch all;
  const auto together = find(all, 8);
  for (std::size_t i = 0; i < together.size(); ++i) {
    Minibatch one({.inference = true});
    EXPECT_EQ(find(one, i + 1)[i], together[i]) << i;
  }
}

// Hypotheses that wait hold on to their states and to nothing else.
TEST(WordBeam, LongSentencesNeedTheMemoryOfShortOnes) {
  const auto peak_of = [](unsigned length) {
    const Grammar grammar(1, length);
    ComputationGraph graph({.inference = true});
    beam_search(grammar.start(graph), grammar.steps(),
                {.max_length = 100000, .beam = 8, .word_beam = 4, .fast_track = 1});
    return static_cast<double>(graph.explain().peak_bytes);
  };
  EXPECT_LT(peak_of(200), 1.5 * peak_of(20));
}

TEST(WordBeam, RefusesWhatMakesNoSense) {
  const Grammar grammar(1);
  ComputationGraph graph;
  Steps<Grammar::State> steps = grammar.steps();
  EXPECT_THROW(beam_search(grammar.start(graph), steps, {.beam = 2, .fast_track = 1}), UsageError);
  steps.is_word = nullptr;
  EXPECT_THROW(beam_search(grammar.start(graph), steps, {.beam = 2, .word_beam = 1}), UsageError);
  const BatchedSteps<LSTM::State> batched = {
      .scores = [&](const LSTM::State& state) { return grammar.output(state.h); },
      .advance = [&](const LSTM::State& state, const Actions&) { return state; }};
  EXPECT_THROW(
      beam_search(grammar.start(graph).lstm, batched, {.max_length = 3, .beam = 2, .word_beam = 1}),
      UsageError);
}

}  // namespace
}  // namespace dynet_like::nn
