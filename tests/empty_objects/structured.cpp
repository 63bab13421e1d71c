// Structured outputs, and searches for them.
#include "nn/structured/arc_scores.h"
#include "nn/structured/span_chart.h"
#include "nn/structured/span_scores.h"
#include "tests/empty_objects/types.h"

namespace dynet_like {

void use_structured(Types& types) {
  ParameterCollection model;
  ComputationGraph graph;
  const std::vector<unsigned> gold = {0, 1};
  const std::vector<Expression> scores = {input(graph, Dim({2}, 2), {1, 2, 3, 4}),
                                          input(graph, Dim({2}, 1), {1, 2})};
  types.use(nn::LabelChain(model.add_subcollection("chain"), 3), [&](const nn::LabelChain& chain) {
    ATTEMPT(chain.labels(), chain.score(graph, gold));
  });
  types.use(nn::SpanNumbers("test", scores),
            [](const nn::SpanNumbers& numbers) { ATTEMPT(numbers(0, 1)); });
  types.use(nn::SpanChart(), [&](nn::SpanChart& chart) {
    ATTEMPT(chart.by_start(1).value(), chart.by_end(1).value(), chart.add(Expression()),
            chart.add(input(graph, Dim({1}, 2), {1, 2})));
  });
  types.use(nn::ArcScores("test", {1, 2}),
            [](const nn::ArcScores& arcs) { ATTEMPT(arcs(0, arcs.words())); });
  types.use(nn::ParserState({nn::TransitionSystem::arc_hybrid}, 2), [&](nn::ParserState& state) {
    ATTEMPT(state.is_done(), state.allowed(), state.is_allowed(0), state.oracle(gold),
            state.loss(gold), state.cost(0, gold), state.judge(gold),
            state.stack(0) + state.buffer(0), state.stack_size() + state.buffer_size(),
            state.heads().at(0), state.apply(0), state.apply_forced(),
            state.system().transition(0));
  });
  ATTEMPT(nn::constituents(nn::Tree()), nn::binarised({}, 0, 0), nn::to_tree({}, {}, {}, 0),
          nn::constituents_loss({}, {}, 0),
          nn::constituents_loss(std::vector<Expression>(1), {}, 0), nn::ctc_loss(Expression(), {}),
          nn::ctc_loss(std::span<const Expression>(), {}), nn::TransitionSystem().size(),
          nn::TransitionSystem().transition(9),
          nn::TransitionSystem().number(nn::TransitionKind::reduce));
}

void use_decoding(Types& types) {
  using Words = nn::Steps<Expression>;
  using Batched = nn::BatchedSteps<Expression>;
  ComputationGraph graph;
  const Expression start = input(graph, {2}, {1, 2});
  const nn::SearchOptions options{.max_length = 2};
  const auto use_steps = [&](const auto& steps) {
    Random random;
    ATTEMPT(nn::greedy(start, steps, options), nn::beam_search(start, steps, options),
            nn::sample(start, steps, random, options),
            nn::samples(start, steps, 2, random, options), nn::ensemble(std::vector(1, steps)));
  };
  const auto scores = [](const Expression& state) { return state; };
  const Words words{.scores = scores, .advance = [](const Expression& x, unsigned) { return x; }};
  const Batched batched{.scores = scores,
                        .advance = [](const Expression& x, const auto&) { return x; }};
  types.use(words, use_steps);
  types.use(Words{.scores = scores, .advance = nullptr}, use_steps);
  types.use(Words{.scores = nullptr, .advance = words.advance}, use_steps);
  types.use(batched, [&](const Batched& steps) {
    use_steps(steps);
    ATTEMPT(nn::steps_of_one(steps));
  });
  types.use(Batched{.scores = scores, .advance = nullptr}, use_steps);
  types.use(Batched{scores, batched.advance, nullptr}, use_steps);
  types.use(nn::SearchOptions(), [](const nn::SearchOptions& empty) { ATTEMPT(nn::check(empty)); });
  types.use(nn::Trail(),
            [](nn::Trail& trail) { ATTEMPT(trail.actions(0), trail.actions(trail.add(0, 1))); });
  // What a search is made of, which refers to the steps and options of its caller.
  const auto use_states = [&](auto& states) {
    ATTEMPT(states.begin(start, 1), states.scores(options));
  };
  types.use(nn::SeparateStates<Expression>(words), use_states);
  types.use(nn::JointState<Expression>(batched), use_states);
  types.use(nn::Search(nn::JointState<Expression>(batched), options),
            [&](auto& search) { ATTEMPT(search.run(start, 1, nn::best_of_beam(options))); });
  types.use(nn::SearchMemory(true), [&](auto& memory) {
    ATTEMPT(memory.begin_step(), memory.begin_scores(), memory.end_scores(0, start));
  });
  nn::SeparateStates<Expression> states(words);
  types.use(nn::WordBeam<nn::SeparateStates<Expression>>(states, options),
            [&](auto& beam) { ATTEMPT(beam.waiting(), beam.is_over({})); });
}

}  // namespace dynet_like
