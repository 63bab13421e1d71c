// What is fast finds what is plain: greedy search what a beam of 1 finds, batched steps what the
// steps of one hypothesis find.
#include "tests/decode/decoders.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

template <class State>
void expect_same(const Hypothesis<State>& a, const Hypothesis<State>& b) {
  EXPECT_EQ(a.actions, b.actions);
  EXPECT_EQ(a.sum, b.sum);
  EXPECT_EQ(a.score, b.score);
  EXPECT_EQ(a.is_complete, b.is_complete);
}

TEST(GreedyTest, IsABeamOfOne) {
  const Model model;
  for (std::size_t sample = 0; sample < 12; ++sample) {
    for (const bool normalise : {false, true}) {
      ComputationGraph graph;
      const LSTM::State start = model.start(graph, sample);
      const SearchOptions options = {
          .end = kEnd, .max_length = 1 + sample, .temperature = 0.7f, .normalise = normalise};
      expect_same(greedy(start, model.steps(), options),
                  beam_search(start, model.steps(), options).at(0));
      const Parse words = {static_cast<unsigned>(sample % 4), {}};
      if (words.left == 0) continue;
      const SearchOptions of_parser = {.normalise = normalise};
      expect_same(greedy(words, parser(model, graph), of_parser),
                  beam_search(words, parser(model, graph), of_parser).at(0));
    }
  }
}

TEST(GreedyTest, NormalisesOnlyIfItIsAsked) {
  const Model model;
  const auto normalised = [&](const SearchOptions& options) {
    ComputationGraph graph;
    greedy(model.start(graph, 0), model.steps(), options);
    for (const Report::Type& type : graph.explain().types) {
      if (type.op == "log_softmax") return true;
    }
    return false;
  };
  EXPECT_FALSE(normalised({.max_length = 3}));
  EXPECT_TRUE(normalised({.max_length = 3, .normalise = true}));
  EXPECT_TRUE(normalised({.max_length = 3, .length_penalty = 1}));
}

// What batched steps find has the bits of what the others find.
TEST(BatchedStepsTest, FindTheSame) {
  const Model model;
  for (const std::size_t beam : {1u, 3u, 8u, 40u}) {
    for (std::size_t i = 0; i < 6; ++i) {
      ComputationGraph graph;
      const LSTM::State start = model.start(graph, i);
      const SearchOptions options = {.end = kEnd,
                                     .max_length = 3 + i,
                                     .beam = beam,
                                     .n_best = 5,
                                     .length_penalty = 0.4,
                                     .temperature = 1.2f};
      Random random(4), same(4);
      auto separate = beam_search(start, model.steps(), options);
      auto batched = beam_search(start, model.batched_steps(), options);
      for (auto& found : samples(start, model.steps(), beam, random, options)) {
        separate.push_back(found);
      }
      for (auto& found : samples(start, model.batched_steps(), beam, same, options)) {
        batched.push_back(found);
      }
      separate.push_back(greedy(start, model.steps(), options));
      batched.push_back(greedy(start, model.batched_steps(), options));
      separate.push_back(sample(start, model.steps(), random, options));
      batched.push_back(sample(start, model.batched_steps(), same, options));
      ASSERT_EQ(separate.size(), batched.size());
      for (std::size_t k = 0; k < separate.size(); ++k) {
        expect_same(separate[k], batched[k]);
        EXPECT_EQ(as_vector(separate[k].state.c.value()), as_vector(batched[k].state.c.value()));
      }
    }
  }
}

// Whatever they were made by: a cell's are selected together, others one after the other.
TEST(BatchedStepsTest, PickStates) {
  const Model model;
  ComputationGraph graph;
  const LSTM::State zero = model.lstm.start(graph);
  const Expression xs = model.words.minibatch(graph, {0, 1, 2});
  const LSTM::State three = model.lstm.step(zero, xs);
  const LSTM::State mixed = {three.h, tanh(three.c)}, exchanged = {three.c, three.h};
  const LSTM::State fixed = {nobackprop(three.h), three.c};
  const std::vector<unsigned> elements = {2, 0, 2, 2};
  for (const LSTM::State& state : {three, mixed, exchanged, fixed}) {
    const LSTM::State picked = pick_batch_elems(state, elements);
    EXPECT_EQ(picked.h.dim(), Dim({kHidden}, 4));
    EXPECT_EQ(as_vector(picked.h.value()), as_vector(pick_batch_elems(state.h, elements).value()));
    EXPECT_EQ(as_vector(picked.c.value()), as_vector(pick_batch_elems(state.c, elements).value()));
  }
  const LSTM::State zeros = pick_batch_elems(zero, {0, 0});
  EXPECT_EQ(as_vector(zeros.h.value()), std::vector<float>(2 * kHidden, 0));
  // No gradient comes through what blocks it.
  const LSTM::State picked = pick_batch_elems(fixed, {1});
  const Gradients& gradients = graph.backward(sum_elems(picked.h));
  EXPECT_EQ(gradients.find_rows(model.words.table().get_storage()), nullptr);
}

TEST(BatchedStepsTest, Ensembles) {
  const Model a(1), b(2);
  ComputationGraph graph;
  const std::vector<LSTM::State> starts = {a.start(graph, 3), b.start(graph, 3)};
  const SearchOptions options = {.end = kEnd, .max_length = 6, .beam = 5, .n_best = 3};
  const auto separate = beam_search(starts, ensemble<LSTM::State>({a.steps(), b.steps()}), options);
  const auto batched =
      beam_search(starts, ensemble<LSTM::State>({a.batched_steps(), b.batched_steps()}), options);
  ASSERT_EQ(separate.size(), batched.size());
  for (std::size_t i = 0; i < separate.size(); ++i) expect_same(separate[i], batched[i]);
}

// A state of the user's: what differs between hypotheses is picked, what they share is not.
TEST(BatchedStepsTest, AnyStates) {
  struct Mine {
    Expression h, shared;
  };
  const Model model(1, 1);
  ComputationGraph graph;
  const Expression start = tanh(model.words(graph, 3)), shared = model.words(graph, 1);
  const auto next = [](const Expression& h, const Expression& xs) { return tanh(0.5f * h + xs); };
  const auto scores = [&](const Expression& h) { return model.output(h) * 3.0f; };
  const BatchedSteps<Expression> plain = {
      .scores = scores, .advance = [&](const Expression& h, const std::vector<unsigned>& words) {
        return next(h, model.words.minibatch(graph, words) + shared);
      }};
  const BatchedSteps<Mine> mine = {
      .scores = [&](const Mine& state) { return scores(state.h); },
      .advance =
          [&](const Mine& state, const std::vector<unsigned>& words) {
            const Expression xs = model.words.minibatch(graph, words) + state.shared;
            return Mine{next(state.h, xs), state.shared};
          },
      .pick =
          [](const Mine& state, const std::vector<unsigned>& hypotheses) {
            return Mine{pick_batch_elems(state.h, hypotheses), state.shared};
          }};
  const SearchOptions options = {.max_length = 6, .beam = 5, .n_best = 5};
  const auto expected = beam_search(start, steps_of_one(plain), options);
  const auto of_plain = beam_search(start, plain, options);
  const auto of_mine = beam_search(Mine{start, shared}, mine, options);
  ASSERT_EQ(expected.size(), 5u);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expect_same(of_plain.at(i), expected[i]);
    EXPECT_EQ(of_mine.at(i).actions, expected[i].actions);
    EXPECT_EQ(of_mine.at(i).sum, expected[i].sum);
  }
}

// However many hypotheses there are, a step of a sample is one node per layer.
TEST(BatchedStepsTest, HypothesesShareNodes) {
  const Model model(1, 0.1f);
  Minibatch batch;
  for_each_sample(batch, 6, [&](ComputationGraph& graph, std::size_t i) {
    beam_search(model.start(graph, i), model.batched_steps(), {.max_length = 5, .beam = 8});
  });
  const NodesAndBatches softmax = log_softmax_of(batch.explain());
  EXPECT_EQ(softmax.batches, 5u);
  EXPECT_EQ(softmax.nodes, 6u * 5u);
}

TEST(BatchedStepsTest, NeedScoresOfEveryHypothesis) {
  const Model model;
  ComputationGraph graph;
  BatchedSteps<LSTM::State> steps = model.batched_steps();
  steps.scores = [&](const LSTM::State&) { return zeros(graph, Dim({4})); };
  const auto search = [&] { beam_search(model.start(graph, 0), steps, {.beam = 3}); };
  EXPECT_EQ(message_of<ShapeError>(search),
            "[decode] need a column with the scores of all actions, for each of 3 hypotheses; got "
            "{4}");
}

// Every search, of one model or several.
template <class AnySteps>
void expect_refused(const LSTM::State& start, const AnySteps& steps, const std::string& missing) {
  Random random(1);
  const auto check = [&](const auto& search) {
    EXPECT_EQ(message_of<UsageError>(search),
              "[decode] need steps with a function `" + missing + "`; got none");
  };
  check([&] { greedy(start, steps); });
  check([&] { beam_search(start, steps); });
  check([&] { sample(start, steps, random); });
  check([&] { samples(start, steps, 3, random); });
  check([&] { ensemble(std::vector{steps}); });
}

TEST(DecodeTest, FunctionsMayNotBeMissing) {
  const Model model;
  ComputationGraph graph;
  const LSTM::State start = model.start(graph, 0);
  expect_refused(start, Steps<LSTM::State>(), "scores");
  Steps<LSTM::State> steps = model.steps();
  steps.advance = nullptr;
  expect_refused(start, steps, "advance");
  BatchedSteps<LSTM::State> batched = model.batched_steps();
  batched.pick = nullptr;
  expect_refused(start, batched, "pick");
  batched.advance = nullptr;
  expect_refused(start, batched, "advance");
  batched.scores = nullptr;
  expect_refused(start, batched, "scores");
}

}  // namespace
}  // namespace dynet_like::nn
