// Searches give back the memory of what no later step reads, and find the same.
#include "tests/decode/decoders.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

// The memory of searches of six samples, in inference.
template <class Find>
double peak_of(const Model& model, const Find& find) {
  Minibatch batch({.inference = true});
  for_each_sample(batch, 6,
                  [&](ComputationGraph& graph, std::size_t i) { find(model.start(graph, i)); });
  return static_cast<double>(batch.explain().peak_bytes);
}

TEST(DecodeMemoryTest, LongSearchesNeedThatOfShortOnes) {
  const Model model(1, 0.1f);
  const auto all = [&](std::size_t length) {
    const SearchOptions options = {.max_length = length, .beam = 8};
    const auto same = ensemble<LSTM::State>({model.steps(), model.steps()});
    return std::vector<double>{
        peak_of(model, [&](const auto& s) { beam_search(s, model.batched_steps(), options); }),
        peak_of(model, [&](const auto& s) { beam_search(s, model.steps(), options); }),
        peak_of(model, [&](const auto& s) { greedy(s, model.steps(), options); }),
        peak_of(model, [&](const auto& s) { greedy(s, model.batched_steps(), options); }),
        peak_of(model,
                [&](const auto& s) {
                  beam_search(std::vector{s, s}, same, options);
                }),
    };
  };
  const std::vector<double> of_short = all(40), of_long = all(400);
  for (std::size_t i = 0; i < of_short.size(); ++i) {
    EXPECT_LT(of_long[i], 1.2 * of_short[i]) << i;
  }
}

struct Mine {
  LSTM::State lstm;
  std::vector<Expression> last = {};  // of two steps
  unsigned words = 0;
};

// A struct: what no state refers to is given back.
TEST(DecodeMemoryTest, StructsOfExpressions) {
  const Model model;
  const Steps<LSTM::State> lstm = model.steps();
  const Steps<Mine> steps = {.scores =
                                 [&](const Mine& mine) {
                                   const Expression before =
                                       mine.last.empty() ? mine.lstm.h : mine.last.front();
                                   return model.output(mine.lstm.h + 0.5f * before);
                                 },
                             .advance =
                                 [&](Mine mine, unsigned word) {
                                   if (mine.last.size() == 2) mine.last.erase(mine.last.begin());
                                   mine.last.push_back(mine.lstm.h);
                                   mine.lstm = lstm.advance(mine.lstm, word);
                                   ++mine.words;
                                   return mine;
                                 }};
  const auto peak_at = [&](std::size_t length) {
    return peak_of(model, [&](const LSTM::State& start) {
      beam_search(Mine{start}, steps, {.max_length = length, .beam = 8});
      greedy(Mine{start}, steps, {.max_length = length});
    });
  };
  EXPECT_LT(peak_at(400), 1.2 * peak_at(40));
}

// A state that nobody knows: its values stay, and are right when an old one is read.
TEST(DecodeMemoryTest, StatesOfTheUser) {
  struct History {
    std::vector<LSTM::State> states;
    const Model* model = nullptr;  // it might refer to expressions
  };
  const Model model;
  const Steps<LSTM::State> steps = model.steps();
  const Steps<History> with_history = {
      .scores =
          [&](const History& history) {
            return steps.scores(history.states.back()) + steps.scores(history.states.front());
          },
      .advance =
          [&](History history, unsigned word) {
            history.states.push_back(steps.advance(history.states.back(), word));
            return history;
          }};
  std::vector<Actions> found;
  for (const bool inference : {false, true}) {
    ComputationGraph graph({.inference = inference});
    const History start = {{model.start(graph, 1)}};
    const auto best = beam_search(start, with_history, {.max_length = 60, .beam = 4})[0];
    found.push_back(best.actions);
    const auto last = as_vector(best.state.states.at(3).h.value());
    EXPECT_EQ(last.size(), kHidden);
  }
  EXPECT_EQ(found[0], found[1]);
}

// What a search has found can be asked for, though its memory was given back.
TEST(DecodeMemoryTest, StatesThatWereFound) {
  const Model model;
  std::vector<std::vector<float>> states;
  for (const bool inference : {false, true}) {
    ComputationGraph graph({.inference = inference});
    const LSTM::State start = model.start(graph, 1);
    const SearchOptions search = {.end = kEnd, .max_length = 80, .beam = 6, .n_best = 6};
    for (const auto& found : beam_search(start, model.steps(), search)) {
      states.push_back(as_vector(found.state.h.value()));
    }
    for (const auto& found : beam_search(start, model.batched_steps(), search)) {
      states.push_back(as_vector(found.state.h.value()));
    }
  }
  ASSERT_EQ(states.size(), 24u);
  for (std::size_t i = 6; i < states.size(); ++i) EXPECT_EQ(states[i], states[i - 6]) << i;
}

// What the scores take, which have the size of a vocabulary, is given back in every search.
TEST(DecodeMemoryTest, ScoresAreGivenBack) {
  constexpr unsigned kWords = 3000;
  Model model;
  const Linear output(model.parameters, kHidden, kWords);
  for (const std::size_t beam : {1u, 3u}) {
    ComputationGraph graph({.inference = true});
    Steps<LSTM::State> steps = model.steps();
    steps.scores = [&](const LSTM::State& state) { return output(state.h); };
    steps.advance = [&](const LSTM::State& state, unsigned word) {
      return model.lstm.step(state, model.words(graph, word % kActions));
    };
    if (beam == 1) greedy(model.start(graph, 0), steps, {.max_length = 100});
    if (beam > 1) beam_search(model.start(graph, 0), steps, {.max_length = 100, .beam = beam});
    // Of 100 steps that had them.
    EXPECT_LT(graph.explain().peak_bytes, beam * kWords * sizeof(float) * 8);
  }
}

// Hypotheses that choose among few actions do not keep what others choose from.
TEST(DecodeMemoryTest, ScoresOfTwoSizesAreGivenBack) {
  constexpr unsigned kWords = 3000;
  Model model;
  const Linear words(model.parameters, kHidden, kWords), others(model.parameters, kHidden, 5);
  struct Mine {
    LSTM::State lstm;
    bool is_first = true, has_words = false;
  };
  const Steps<Mine> steps = {
      .scores = [&](const Mine& mine) { return (mine.has_words ? words : others)(mine.lstm.h); },
      .advance =
          [&](const Mine& mine, unsigned action) {
            const Expression x = model.words(mine.lstm.h.graph("advance"), action % kActions);
            return Mine{model.lstm.step(mine.lstm, x), false,
                        mine.is_first ? action % 2 == 0 : mine.has_words};
          }};
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    ComputationGraph graph({.inference = true});
    Random random(seed);
    const auto found = samples(Mine{model.start(graph, 0)}, steps, 8, random, {.max_length = 100});
    const auto with_words = std::ranges::count_if(found, [](auto& h) { return h.state.has_words; });
    ASSERT_GT(with_words, 0);
    ASSERT_LT(with_words, 8);
    // Of 100 steps that had them.
    EXPECT_LT(graph.explain().peak_bytes, 8 * kWords * sizeof(float) * 8) << "seed " << seed;
  }
}

}  // namespace
}  // namespace dynet_like::nn
