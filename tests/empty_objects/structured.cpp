// Structured outputs, and searches for them.
#include "dynet_like/dynet_like.h"
#include "nn/nn.h"
#include "nn/structured/arc_scores.h"
#include "nn/structured/best.h"
#include "nn/structured/label_chain.h"
#include "nn/structured/span_chart.h"
#include "nn/structured/span_scores.h"
#include "tests/empty_objects/types.h"

namespace dynet_like {

namespace {

using Words = nn::Steps<Expression>;
using Batched = nn::BatchedSteps<Expression>;

void use_parser(nn::ParserState& state) {
  const std::vector<std::uint32_t> heads = {0, 1};
  ATTEMPT(state.is_done());
  ATTEMPT(state.allowed());
  ATTEMPT(state.is_allowed(0));
  ATTEMPT(state.oracle(heads));
  ATTEMPT(state.loss(heads));
  ATTEMPT(state.cost(0, heads));
  ATTEMPT(state.judge(heads));
  ATTEMPT(state.stack(0) + state.buffer(0));
  ATTEMPT(state.stack_size() + state.buffer_size());
  ATTEMPT(state.heads().at(0));
  ATTEMPT(state.apply(0));
  ATTEMPT(state.apply_forced());
  ATTEMPT(state.system().transition(0));
}

void use_parts_of_crfs(Types& types, ParameterCollection& model, ComputationGraph& graph) {
  const std::vector<unsigned> gold = {0, 1};
  const std::vector<Expression> scores = {input(graph, Dim({2}, 2), {1, 2, 3, 4}),
                                          input(graph, Dim({2}, 1), {1, 2})};
  types.use("LabelChain", nn::LabelChain(model.add_subcollection("chain"), 3),
            [&](const nn::LabelChain& chain) {
              ATTEMPT(chain.labels());
              ATTEMPT(chain.score(graph, gold).value());
            });
  types.use("SpanNumbers", nn::SpanNumbers("test", scores),
            [](const nn::SpanNumbers& numbers) { ATTEMPT(numbers(0, 1)); });
  types.use("SpanChart", nn::SpanChart(), [&](nn::SpanChart& chart) {
    ATTEMPT(chart.by_start(1).value());
    ATTEMPT(chart.by_end(1).value());
    ATTEMPT(chart.add(Expression()));
    ATTEMPT(chart.add(input(graph, Dim({1}, 2), {1, 2})));
  });
}

}  // namespace

void use_structured(Types& types) {
  ParameterCollection model;
  ComputationGraph graph;
  use_parts_of_crfs(types, model, graph);
  types.use("ArcScores", nn::ArcScores("test", {1, 2}),
            [](const nn::ArcScores& scores) { ATTEMPT(scores(0, scores.words())); });
  types.use("Best", nn::Best(), [](nn::Best& best) { best.offer(1, 2); });
  ATTEMPT(nn::constituents(nn::Tree()));
  ATTEMPT(nn::binarised({}, 0, 0));
  ATTEMPT(nn::to_tree({}, {}, {}, 0));
  ATTEMPT(nn::constituents_loss({}, {}, 0));
  ATTEMPT(nn::constituents_loss(std::vector<Expression>(1), {}, 0));
  types.use("CtcLabels", nn::CtcLabels(), [&](const nn::CtcLabels& labels) {
    ATTEMPT(nn::ctc_loss(Expression(), labels.labels));
    ATTEMPT(nn::ctc_loss(std::span<const Expression>(), labels.labels));
  });
  types.use("ParserState", nn::ParserState({nn::TransitionSystem::arc_hybrid}, 2), use_parser);
  types.use("TransitionSystem", nn::TransitionSystem(), [](const nn::TransitionSystem& system) {
    ATTEMPT(system.size());
    ATTEMPT(system.transition(9));
    ATTEMPT(system.number(nn::TransitionKind::reduce));
  });
}

void use_decoding(Types& types) {
  ComputationGraph graph;
  const Expression start = input(graph, {2}, {1, 2});
  const nn::SearchOptions options{.max_length = 2};
  const auto use_steps = [&](const auto& steps) {
    Random random;
    ATTEMPT(nn::greedy(start, steps, options));
    ATTEMPT(nn::beam_search(start, steps, options));
    ATTEMPT(nn::sample(start, steps, random, options));
    ATTEMPT(nn::samples(start, steps, 2, random, options));
    ATTEMPT(nn::ensemble(std::vector{steps}));
  };
  const auto scores = [](const Expression& state) { return state; };
  const Words words{.scores = scores, .advance = [](const Expression& x, unsigned) { return x; }};
  const Batched batched{.scores = scores,
                        .advance = [](const Expression& x, const auto&) { return x; }};
  types.use("Steps", words, use_steps);
  types.use("Steps", Words{.scores = scores, .advance = nullptr}, use_steps);
  types.use("Steps", Words{.scores = nullptr, .advance = words.advance}, use_steps);
  types.use("BatchedSteps", batched, [&](const Batched& steps) {
    use_steps(steps);
    ATTEMPT(nn::steps_of_one(steps));
  });
  types.use("BatchedSteps", Batched{.scores = scores, .advance = nullptr}, use_steps);
  types.use("BatchedSteps", Batched{scores, batched.advance, nullptr}, use_steps);
  types.use("SearchOptions", nn::SearchOptions(),
            [](const nn::SearchOptions& empty) { ATTEMPT(nn::check(empty)); });
  types.use("Trail", nn::Trail(), [](nn::Trail& trail) {
    ATTEMPT(trail.actions(0));
    ATTEMPT(trail.actions(trail.add(0, 1)));
  });
  // What a search is made of, which refers to the steps and options of its caller.
  types.use("SeparateStates", nn::SeparateStates<Expression>(words),
            [&](nn::SeparateStates<Expression>& states) {
              ATTEMPT(states.begin(start, 1));
              ATTEMPT(states.scores(options));
            });
  types.use("JointState", nn::JointState<Expression>(batched),
            [&](nn::JointState<Expression>& states) {
              ATTEMPT(states.begin(start, 1));
              ATTEMPT(states.scores(options));
            });
  types.use("Search", nn::Search(nn::JointState<Expression>(batched), options),
            [&](auto& search) { ATTEMPT(search.run(start, 1, nn::best_of_beam(options))); });
  types.use("SearchMemory", nn::SearchMemory(true), [&](auto& memory) {
    ATTEMPT(memory.begin_step());
    ATTEMPT(memory.begin_scores());
    ATTEMPT(memory.end_scores(0, start));
  });
  nn::SeparateStates<Expression> states(words);
  types.use("WordBeam", nn::WordBeam<nn::SeparateStates<Expression>>(states, options),
            [&](auto& beam) {
              ATTEMPT(beam.waiting());
              ATTEMPT(beam.is_over({}));
            });
}

}  // namespace dynet_like
