// The picture of batches: every batch is a row, every node of a sample with a column has a mark.
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++times;
  }
  return times;
}

// Tags close in the order in which they open, and no markup is left in texts.
void expect_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  for (std::size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    const std::size_t end = svg.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" /"));
    if (tag.front() == '/') {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(tag.substr(1), open.back());
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
  }
  EXPECT_TRUE(open.empty());
}

class BatchPictureTest : public ::testing::Test {
 protected:
  // As many steps as its number, and one more.
  Expression chain(ComputationGraph& graph, unsigned steps) const {
    Expression h = input(graph, Dim({4}), std::vector<float>(4, 0.5f));
    for (unsigned i = 0; i < steps; ++i) h = tanh(h);
    return h;
  }
  void run(Minibatch& batch, unsigned samples) const {
    for (unsigned i = 0; i < samples; ++i) batch.add_output(chain(batch.new_graph(), i + 1));
    batch.forward();
  }
  static GraphOptions options(unsigned threads = 1) { return {.threads = threads}; }
};

TEST_F(BatchPictureTest, HasEveryBatchAndNodeOnce) {
  Minibatch batch(options());
  run(batch, 4);
  const Report report = batch.explain();
  ASSERT_EQ(report.batches, 4u);
  const std::string svg = batch.draw_batches();
  expect_well_formed(svg);
  EXPECT_TRUE(mentions(svg, "10 nodes of 4 samples in 4 batches"));
  EXPECT_EQ(count(svg, "<g class=\"row"), 4u);
  for (int row = 0; row < 4; ++row) {
    EXPECT_EQ(count(svg, "id=\"batch-" + std::to_string(row) + '"'), 1u);
  }
  EXPECT_EQ(count(svg, "<circle"), 10u);
  for (unsigned sample = 0; sample < 4; ++sample) {
    const std::string name = "\nsample " + std::to_string(sample) + ", node ";
    EXPECT_EQ(count(svg, name), sample + 1);
  }
  EXPECT_EQ(count(svg, "<path class=\"edge"), 6u);
  // What runs last has one node.
  EXPECT_EQ(count(svg, "<g class=\"row alone"), 1u);
  EXPECT_EQ(count(svg, "alone: 1<"), 1u);
  EXPECT_EQ(count(svg, "fill=\"#fff\" stroke="), 1u);
  EXPECT_TRUE(mentions(svg, "○ ran alone: 1 row"));
}

TEST_F(BatchPictureTest, SaysWhatItLeavesOut) {
  Minibatch batch(options());
  run(batch, 20);
  const std::string all = batch.draw_batches({.samples = 30});
  EXPECT_FALSE(mentions(all, "Columns: the first"));
  EXPECT_FALSE(mentions(all, "Rows: "));
  EXPECT_EQ(count(all, "<circle"), 210u);
  const std::string some = batch.draw_batches({.samples = 3, .first_row = 1, .rows = 5});
  expect_well_formed(some);
  EXPECT_TRUE(mentions(some, "Columns: the first 3 samples."));
  EXPECT_TRUE(mentions(some, "Rows: 2 to 6 of 20."));
  EXPECT_TRUE(mentions(some, "and 14 rows more"));
  EXPECT_EQ(count(some, "<g class=\"row"), 5u);
  EXPECT_EQ(count(some, "<circle"), 3u);     // samples 1 and 2 have one and two more
  EXPECT_EQ(count(some, ">19</text>"), 1u);  // nodes of its first row, in all samples
}

TEST_F(BatchPictureTest, HasOneMarkForManyNodes) {
  Minibatch batch(options());
  ComputationGraph& graph = batch.new_graph();
  std::vector<Expression> all;
  for (int i = 0; i < 9; ++i) all.push_back(chain(graph, 1));
  batch.add_output(concatenate(all));
  batch.forward();
  const std::string svg = batch.draw_batches();
  expect_well_formed(svg);
  EXPECT_EQ(count(svg, "× 9<"), 1u);
  EXPECT_EQ(count(svg, "<path class=\"edge"), 1u);
}

TEST_F(BatchPictureTest, HasTheBatchesOfAllThreads) {
  Minibatch batch(options(2));
  run(batch, 40);
  const std::string svg = batch.draw_batches({.samples = 40, .rows = 100});
  EXPECT_EQ(count(svg, "<g class=\"row"), batch.explain().batches);
  EXPECT_EQ(count(svg, "<circle"), batch.explain().nodes);
}

TEST_F(BatchPictureTest, TellsRunsApart) {
  Minibatch batch(options());
  for (unsigned i = 0; i < 3; ++i) chain(batch.new_graph(), 1);
  std::vector<Expression> h;
  for (unsigned i = 0; i < 3; ++i) h.push_back(chain(batch.graph(i), 2));
  batch.compute(h);
  const std::string one = batch.draw_batches();
  EXPECT_EQ(count(one, ">run "), 0u);
  for (Expression& e : h) e = exp(e);
  batch.compute(h);
  const std::string two = batch.draw_batches();
  EXPECT_EQ(count(two, ">run 1<"), 1u);
  EXPECT_EQ(count(two, ">run 2<"), 1u);
  EXPECT_EQ(count(batch.draw_batches({.first_row = 2}), ">run 2<"), 1u);
}

TEST_F(BatchPictureTest, HasAColumnForWhatAllSamplesShare) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({4});
  Minibatch batch(options());
  for (unsigned i = 0; i < 3; ++i) {
    ComputationGraph& graph = batch.new_graph();
    batch.add_output(tanh(parameter(graph, w)) + chain(graph, 1));
  }
  batch.forward();
  const std::string svg = batch.draw_batches();
  EXPECT_EQ(count(svg, ">all samples<"), 1u);
  EXPECT_EQ(count(svg, "<g class=\"row"), 3u);
  EXPECT_EQ(count(svg, "<circle"), 7u);
  EXPECT_EQ(count(svg, "row alone"), 0u);  // nothing could run with it
}

TEST_F(BatchPictureTest, ShowsLabelsWithAnyCharacters) {
  Minibatch batch(options());
  const Expression h = chain(batch.new_graph(), 1);
  h.label("<b> & \"scores\"");
  batch.add_output(h);
  batch.forward();
  const std::string svg = batch.draw_batches();
  expect_well_formed(svg);
  EXPECT_TRUE(mentions(svg, "&lt;b&gt; &amp; &quot;scores&quot;"));
}

TEST_F(BatchPictureTest, LeavesOutWhatWasReverted) {
  Minibatch batch(options());
  ComputationGraph& graph = batch.new_graph();
  const Expression h = chain(graph, 1);
  h.value();
  graph.checkpoint();
  exp(h).value();
  graph.revert();
  const std::string svg = batch.draw_batches();
  EXPECT_EQ(count(svg, "<g class=\"row"), 1u);
  EXPECT_EQ(count(svg, "<circle"), 1u);
}

TEST_F(BatchPictureTest, NeedsWhatHasRun) {
  const auto message = [](Minibatch& batch, const BatchPicture& what = {}) {
    return message_of<UsageError>([&] { batch.draw_batches(what); });
  };
  Minibatch batch(options());
  EXPECT_EQ(message(batch), "[draw_batches] need a minibatch with samples; got none");
  batch.add_output(chain(batch.new_graph(), 2));
  const std::string no_batch =
      "[draw_batches] need values that were computed and not freed: call forward before, "
      "without parts for a memory_limit; got no batch";
  EXPECT_EQ(message(batch), no_batch);
  batch.forward();
  EXPECT_EQ(message(batch), "nothing was thrown");
  EXPECT_EQ(message(batch, {.first_row = 2}), "[draw_batches] need a first row below 2; got 2");
  batch.graph(0).invalidate();
  EXPECT_EQ(message(batch), no_batch);
}

}  // namespace
}  // namespace dynet_like
