// What graphs tell a timeline: every kernel call once, with the time that explain() tells.
#include "tests/support/precompiled.h"
#include "tests/support/timeline_events.h"

namespace dynet_like {
namespace {

class GraphTimelineTest : public ::testing::Test {
 protected:
  GraphOptions options(unsigned threads = 1) { return {.threads = threads, .timeline = &timeline}; }
  Expression loss(ComputationGraph& graph, std::size_t i) const {
    Expression h = input(graph, Dim({kSize}), std::vector<float>(kSize, 0.1f));
    for (std::size_t step = 0; step < 4 + i % 3; ++step) {
      h = tanh(affine_transform({parameter(graph, b), parameter(graph, w), h}));
    }
    return sum_elems(h + tanh(parameter(graph, b)));  // that is computed once for all
  }
  Report train(Minibatch& batch, std::size_t samples = 60) {
    batch.clear();
    batch.add_losses(samples,
                     [&](ComputationGraph& graph, std::size_t i) { return loss(graph, i); });
    batch.forward();
    batch.backward();
    return batch.explain();
  }
  TimelineEvents events() const { return TimelineEvents(timeline.json()); }

  static constexpr unsigned kSize = 40;
  Timeline timeline;
  ParameterCollection model;
  Parameter w = model.add_parameters({kSize, kSize}), b = model.add_parameters({kSize});
};

// Of nodes and items, calls forward and backward.
void expect_calls(const TimelineEvents& events, const Report& report) {
  for (const Report::Type& type : report.types) {
    std::uint64_t calls = 0, backward = 0, nodes = 0;
    for (const auto& event : events.named(type.op)) {
      if (event.args["shapes"] != type.shapes) continue;
      ++calls;
      nodes += event.args["nodes"].get<std::uint64_t>();
    }
    for (const auto& event : events.named(type.op + " backward")) {
      if (event.args["shapes"] == type.shapes) ++backward;
    }
    EXPECT_EQ(calls, type.forward_calls) << type.op;
    EXPECT_EQ(nodes, type.nodes) << type.op;
    EXPECT_EQ(backward, type.backward_calls) << type.op;
  }
}

TEST_F(GraphTimelineTest, HasEveryKernelCallOnce) {
  for (unsigned threads : {1u, 2u}) {
    Timeline own;
    GraphOptions with = options(threads);
    with.timeline = &own;
    Minibatch batch(with);
    const Report report = train(batch);
    const TimelineEvents all(own.json());
    all.expect_nested();
    expect_calls(all, report);
    EXPECT_FALSE(all.named("plan").empty());
    EXPECT_FALSE(all.named("sum gradients of parameters").empty());
    EXPECT_EQ(all.named("forward").size(), 1u);
    EXPECT_EQ(all.named("backward").size(), 1u);
    EXPECT_EQ(all.named("forward")[0].args["nodes"], report.nodes);
    EXPECT_EQ(all.named("forward")[0].args["batches"], report.batches);
    for (const auto& event : all.named("tanh")) EXPECT_TRUE(all.is_within(event, "forward"));
    for (const auto& event : all.named("tanh backward")) {  // of what is shared, at the end
      EXPECT_TRUE(all.is_within(event, "backward") ||
                  all.is_within(event, "sum gradients of parameters"));
    }
  }
}

// The same clock is read for both, so that no time is different.
TEST_F(GraphTimelineTest, TellsTheTimeOfExplain) {
  Minibatch batch(options());
  const Report report = train(batch);
  double seconds = 0;
  std::size_t calls = 0;
  const TimelineEvents all = events();
  for (const auto& [tid, row] : all.rows) {
    for (const auto& event : row) {
      const bool is_kernel = event.args.contains("items") || event.args.contains("addends") ||
                             event.name == "pack weights" || event.category == "device";
      if (!is_kernel) continue;
      seconds += 1e-9 * static_cast<double>(event.end - event.begin);
      calls += event.args.contains("calls") ? event.args["calls"].get<std::size_t>() : 1;
    }
  }
  EXPECT_EQ(all.named("pack weights").empty(), !default_device()->is_cpu());
  EXPECT_GT(report.kernel_seconds, 0);
  EXPECT_NEAR(seconds, report.kernel_seconds, 2e-9 * static_cast<double>(calls + 1));
}

TEST_F(GraphTimelineTest, TellsOfRecording) {
  Minibatch batch(options());
  train(batch, 7);
  const TimelineEvents all = events();
  ASSERT_EQ(all.named("record samples").size(), 1u);
  EXPECT_EQ(all.named("record samples")[0].args["samples"], 7);

  ComputationGraph graph(options());
  const Expression h = loss(graph, 0);
  timeline.time("of the program", [] {});
  const Expression twice = h + h;
  twice.value();
  twice.value();  // nothing is new
  const auto recorded = events().named("record");
  ASSERT_FALSE(recorded.empty());
  EXPECT_EQ(recorded.back().args["nodes"], 11);  // 4 steps of two, a sum, that of elements, twice
  EXPECT_GE(recorded.back().begin, events().named("of the program")[0].end);
  events().expect_nested();
}

TEST_F(GraphTimelineTest, TellsOfWaves) {
  for (unsigned threads : {1u, 2u}) {
    Timeline own;
    GraphOptions with = options(threads);
    with.timeline = &own;
    Minibatch batch(with);
    const std::vector<std::size_t> samples = {0, 1, 2, 3, 4, 5};
    const auto losses =
        for_each_sample(batch, samples, [&](ComputationGraph& graph, std::size_t i) {
          const Timeline::Scope scope(own, "sample");  // while others run
          Expression h = loss(graph, i);
          h.value();
          return h + h;
        });
    batch.add_losses(losses);
    batch.forward();
    batch.backward();
    const TimelineEvents all(own.json());
    all.expect_nested();
    ASSERT_EQ(all.named("wave").size(), 1u);
    EXPECT_EQ(all.named("wave")[0].args["samples"], 6);
    EXPECT_EQ(all.named("wave")[0].args["nodes"], batch.explain().waves[0].nodes);
    EXPECT_EQ(all.named("sample").size(), 6u);
    EXPECT_EQ(all.named("run samples").size(), 2 * threads);
    expect_calls(all, batch.explain());
  }
}

TEST_F(GraphTimelineTest, HasTheBytesThatAreHeld) {
  for (unsigned threads : {1u, 2u}) {
    Timeline own;
    Report report;
    {
      GraphOptions with = options(threads);
      with.timeline = &own;
      Minibatch batch(with);
      report = train(batch);
      const TimelineEvents all(own.json());
      ASSERT_GE(all.held.size(), 3u);
      EXPECT_EQ(all.held.back()["args"]["values"], report.value_bytes);
      EXPECT_EQ(all.held.back()["args"]["gradients"], report.gradient_bytes);
      batch.clear();
      EXPECT_EQ(TimelineEvents(own.json()).held.back()["args"]["values"], 0);
      EXPECT_EQ(TimelineEvents(own.json()).held.back()["args"]["gradients"], 0);
      report = train(batch);
    }
    EXPECT_EQ(TimelineEvents(own.json()).held.back()["args"]["values"], 0);
  }
}

TEST_F(GraphTimelineTest, GraphsMayOutliveIt) {
  auto short_lived = std::make_unique<Timeline>();
  GraphOptions with = options();
  with.timeline = short_lived.get();
  Minibatch batch(with);
  train(batch);
  short_lived.reset();
  EXPECT_GT(train(batch).kernel_seconds, 0);
}

TEST_F(GraphTimelineTest, ChangesNoBit) {
  Minibatch with(options()), without;
  train(with);
  train(without);
  EXPECT_EQ(with.loss(), without.loss());
  EXPECT_EQ(with.backward().norm(model), without.backward().norm(model));
}

TEST_F(GraphTimelineTest, DropsEventsBeyondItsBound) {
  Timeline small(20);
  GraphOptions with = options();
  with.timeline = &small;
  Minibatch batch(with);
  train(batch);
  EXPECT_EQ(small.size(), 20u);
  EXPECT_GT(small.dropped(), 0u);
  const TimelineEvents all(small.json());
  std::size_t count = all.held.size();
  for (const auto& [tid, row] : all.rows) count += row.size();
  EXPECT_EQ(count, 20u);
}

TEST_F(GraphTimelineTest, HasWhatRecursionsRun) {
  const nn::TreeLSTM tree_lstm(model, kSize, kSize);
  nn::Tree tree;
  for (int leaf = 0; leaf < 2; ++leaf) tree.add_leaf(0, "word");
  tree.add_parent(0, 2);
  Minibatch batch(options());
  for (int sample = 0; sample < 3; ++sample) {
    const Expression xs = input(batch.new_graph(), Dim({kSize, 2}), std::vector<float>(2 * kSize));
    batch.add_loss(sum_elems(tree_lstm(tree, xs).last().h));
  }
  batch.forward();
  batch.backward();
  const TimelineEvents all = events();
  all.expect_nested();
  ASSERT_EQ(all.named("recursion").size(), 1u);
  EXPECT_EQ(all.named("recursion")[0].args["nodes"], 3);
  EXPECT_EQ(all.named("recursion backward").size(), 1u);
  ASSERT_EQ(all.named("lstm_cell").size(), 2u);  // leaves, and the nodes above
  EXPECT_EQ(all.named("lstm_cell")[0].args["nodes"], 6);
  for (const auto& event : all.named("lstm_cell")) EXPECT_TRUE(all.is_within(event, "recursion"));
  EXPECT_EQ(all.named("lstm_cell backward").size(), 2u);
}

}  // namespace
}  // namespace dynet_like
