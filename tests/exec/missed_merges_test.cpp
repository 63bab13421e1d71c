// What explain() tells of what did not batch: why, where it was recorded, and what it costs.
// Compiled with debug information.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/nn.h"
#include "tests/support/message_of.h"

namespace dynet_like {
namespace {

// A line of this file, and what is called there.
std::string place(int line, const std::string& call) {
  return DYNET_LIKE_SOURCES "tests/exec/missed_merges_test.cpp:" + std::to_string(line) + " (" +
         call + ")";
}

Expression numbers(ComputationGraph& graph, unsigned n) {
  return input(graph, {n}, std::vector<float>(n, 0.5f));
}

class MissedMergesTest : public ::testing::Test {
 protected:
  // Samples of 5 to 9.
  template <class F>
  Report run(const F& record) {
    Minibatch batch(options);
    for (unsigned n = 5; n <= 9; ++n) batch.add_loss(sum_elems(record(batch.new_graph(), n)));
    batch.forward();
    batch.backward();
    return batch.explain();
  }
  static Report::MissedMerge row_of(const Report& report, const std::string& op) {
    const auto row = std::ranges::find(report.missed_merges, op, &Report::MissedMerge::op);
    EXPECT_NE(row, report.missed_merges.end()) << op << '\n' << report;
    return row == report.missed_merges.end() ? Report::MissedMerge() : *row;
  }
  static std::string text_of(const Report& report) {
    std::ostringstream text;
    text << report;
    return text.str();
  }
  void record_places() {
    if (std::system("addr2line --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs addr2line";
    options.record_places = true;
  }

  GraphOptions options;
  ParameterCollection model;
};

TEST_F(MissedMergesTest, NameTheLength) {
  const Report report = run([](ComputationGraph& graph, unsigned i) {
    const unsigned n = 14 - i;
    const Expression y = softmax(numbers(graph, n)) + softmax(numbers(graph, n));
    return pick(y, 0u);
  });
  const Report::MissedMerge row = row_of(report, "softmax");
  EXPECT_EQ(row.field, "length");
  EXPECT_EQ(row.difference, "input 0 is {5}, {6}, {7}, {8} or {9}");
  EXPECT_EQ(row.label, "");
  EXPECT_TRUE(row.places.empty());
  EXPECT_TRUE(row.advice.starts_with("segment_softmax(x, {n}, 0) takes any length"));
  EXPECT_EQ(row.types, 5u);
  EXPECT_EQ(row.nodes, 10u);
  EXPECT_EQ(row.batches, 5u);
  EXPECT_EQ(row.saved_batches, 4u);
  EXPECT_EQ(row.saved_calls, 4u);
  EXPECT_EQ(row.seconds, 0);
  EXPECT_EQ(row.saved_seconds, 0);
  EXPECT_TRUE(mentions(text_of(report),
                       "not together: softmax, 10 nodes of 5 types in 5 batches\n"
                       "  split by length: input 0 is {5}, {6}, {7}, {8} or {9}\n"
                       "  instead: segment_softmax(x, {n}, 0) takes any length; so does "));
  EXPECT_TRUE(mentions(text_of(report), "\n  saves up to 4 batches, 4 kernel calls\n"));
}

TEST_F(MissedMergesTest, NameTheArguments) {
  const Report report = run([](ComputationGraph& graph, unsigned n) {
    return pick_range(input(graph, {12, 4}, std::vector<float>(48)), 1, n);
  });
  const Report::MissedMerge row = row_of(report, "pick_range");
  EXPECT_EQ(row.field, "arguments");
  EXPECT_EQ(row.difference, "arguments are (0,4), (0,5), (0,6), (0,7) or (0,8)");
}

TEST_F(MissedMergesTest, NameTheParameters) {
  const Parameter relations[] = {model.add_parameters({4, 5}, "left"),
                                 model.add_parameters({4, 5}, "right")};
  const Report report = run([&](ComputationGraph& graph, unsigned n) {
    return parameter(graph, relations[n % 2]) * numbers(graph, 5);
  });
  ASSERT_EQ(report.missed_merges.size(), 1u) << report;
  const Report::MissedMerge row = row_of(report, "matrix_product");
  EXPECT_EQ(row.field, "parameter");
  EXPECT_EQ(row.difference, "input 0 is \"/right\" or \"/left\"");
  EXPECT_EQ(row.batches, 2u);
  EXPECT_EQ(row.saved_batches, 1u);
}

TEST_F(MissedMergesTest, NameTheConstants) {
  const Report report = run([](ComputationGraph& graph, unsigned n) {
    return constant(graph, {4, 4}, 0.5f * static_cast<float>(n / 4)) * numbers(graph, 4);
  });
  const Report::MissedMerge row = row_of(report, "matrix_product");
  EXPECT_EQ(row.field, "constant");
  EXPECT_EQ(row.difference, "input 0 is constant 0.5 or constant 1");
}

// Loops whose samples have different depths share the batches of the longest one, and so does what
// comes behind them, unless the policy goes by depth.
TEST_F(MissedMergesTest, NameTheDepth) {
  const Parameter w = model.add_parameters({4, 4});
  const auto loop = [&](ComputationGraph& graph, unsigned n) {
    Expression h = numbers(graph, 4);
    for (unsigned i = 0; i < n; ++i) h = tanh(parameter(graph, w) * h);
    return exp(h);
  };
  EXPECT_TRUE(run(loop).missed_merges.empty()) << run(loop);
  options.policy = batching::Policy::depth;
  const Report report = run(loop);
  EXPECT_EQ(report.missed_merges.size(), 2u) << report;  // the sums, too
  const Report::MissedMerge row = row_of(report, "exp");
  EXPECT_EQ(row.field, "depth");
  EXPECT_EQ(row.difference, "the depth is 11, 13, 15, 17 or 19");
  EXPECT_EQ(row.types, 1u);
  EXPECT_EQ(row.batches, 5u);
  EXPECT_EQ(row.saved_batches, 4u);
  EXPECT_EQ(row.saved_calls, 8u);  // forward and backward
  EXPECT_EQ(row.advice,
            "let GraphOptions::policy be automatic: it delays nodes that nothing waits for");
  options.policy = batching::Policy::none;  // is what was asked for
  EXPECT_TRUE(run(loop).missed_merges.empty());
}

class MissedCallsTest : public MissedMergesTest {
 protected:
  const Parameter w = model.add_parameters({4, 4});
  std::vector<Expression> record(Minibatch& batch) {
    std::vector<Expression> results;
    for (unsigned n = 5; n <= 9; ++n) {
      Expression h = numbers(batch.new_graph(), 4);
      for (unsigned i = 0; i < n; ++i) h = tanh(parameter(*h.pg, w) * h);
      results.push_back(h);
    }
    return results;
  }
};

TEST_F(MissedCallsTest, AreOfSamplesOneByOne) {
  Minibatch one_by_one(options);
  for (const Expression& result : record(one_by_one)) result.value();
  const Report::MissedMerge row = row_of(one_by_one.explain(), "tanh");
  EXPECT_EQ(row.field, "call");
  EXPECT_EQ(row.difference, "values were asked for in 5 calls, but no sample needs more than 1");
  EXPECT_TRUE(row.advice.starts_with("ask for the values of all samples at once"));
  EXPECT_EQ(row.batches, 35u);
  EXPECT_EQ(row.saved_batches, 26u);  // the longest needs 9
  Minibatch together(options);
  together.compute(record(together));
  EXPECT_TRUE(together.explain().missed_merges.empty()) << together.explain();
}

// Every step reads what the one before has computed: no sample has fewer calls.
TEST_F(MissedCallsTest, AreNotOfSteps) {
  for (const unsigned threads : {1u, 2u}) {
    options.threads = threads;
    Minibatch batch(options);
    std::vector<Expression> states;
    for (unsigned n = 0; n < 40; ++n) states.push_back(numbers(batch.new_graph(), 4));
    for (unsigned step = 0; step < 5; ++step) {
      for (Expression& state : states) state = tanh(parameter(*state.pg, w) * state);
      batch.compute(states);
      for (Expression& state : states) {
        state = input(*state.pg, {4}, as_vector(state.value()));
      }
    }
    EXPECT_TRUE(batch.explain().missed_merges.empty()) << batch.explain();
  }
}

// ----------------------------------------------------------------------------- what they cost

TEST_F(MissedMergesTest, AreSortedByWhatTheyCost) {
  const Report report = run([](ComputationGraph& graph, unsigned n) {
    const Expression x = cumsum(numbers(graph, n), 0) + cumsum(exp(numbers(graph, n)), 0);
    return softmax(softmax(softmax(x)));
  });
  ASSERT_GE(report.missed_merges.size(), 3u);
  EXPECT_EQ(report.missed_merges[0].op, "softmax");
  EXPECT_EQ(report.missed_merges[0].saved_batches, 12u);
  for (std::size_t i = 1; i < report.missed_merges.size(); ++i) {
    EXPECT_GE(report.missed_merges[i - 1].saved_calls, report.missed_merges[i].saved_calls);
  }
}

TEST_F(MissedMergesTest, AreAtMostTwenty) {
  const Report report = run([](ComputationGraph& graph, unsigned n) {
    const unsigned rows = 40 + n;
    const Expression x = input(graph, {rows, 2}, std::vector<float>(2 * rows));
    std::vector<Expression> all;
    for (unsigned end = 1; end <= 25; ++end) all.push_back(sum_elems(pick_range(x, 0, end)));
    return concatenate(all);
  });
  EXPECT_EQ(report.missed_merges.size(), 20u);
}

TEST_F(MissedMergesTest, HaveSharesOfMeasuredTime) {
  options.measure_time = true;
  const Report report = run(
      [](ComputationGraph& graph, unsigned n) { return cumsum(softmax(numbers(graph, n)), 0); });
  double seconds = 0;
  for (const Report::MissedMerge& row : report.missed_merges) {
    EXPECT_DOUBLE_EQ(row.saved_seconds, row.seconds * static_cast<double>(row.saved_batches) /
                                            static_cast<double>(row.batches));
    seconds += row.seconds;
  }
  double of_types = 0;
  for (const Report::Type& type : report.types) of_types += type.seconds;
  EXPECT_LE(seconds, of_types * (1 + 1e-9));
  EXPECT_TRUE(std::ranges::is_sorted(report.missed_merges, std::ranges::greater(),
                                     &Report::MissedMerge::saved_seconds));
}

// -------------------------------------------------------------------------- labels and places

TEST_F(MissedMergesTest, HaveLabels) {
  const Report report = run([](ComputationGraph& graph, unsigned n) {
    const Expression scores = cumsum(numbers(graph, n), 0);
    scores.label(n < 9 ? "scores" : "last");
    return softmax(scores);
  });
  EXPECT_EQ(row_of(report, "cumsum").label, "scores, last");
  EXPECT_EQ(row_of(report, "softmax").label, "");
  EXPECT_TRUE(mentions(text_of(report), "not together: cumsum \"scores, last\", 5 nodes"));
}

TEST_F(MissedMergesTest, TellWhereTheyWereRecorded) {
  record_places();
  constexpr int line = __LINE__ + 2;
  const Report report = run([](ComputationGraph& graph, unsigned n) {
    const Expression x = softmax(numbers(graph, n));
    const Expression y = n < 6 ? softmax(x) : x;
    return y * 2.0f;
  });
  EXPECT_EQ(row_of(report, "softmax").places,
            (std::vector{place(line, "softmax"), place(line + 1, "softmax")}));
  EXPECT_EQ(row_of(report, "scalar_multiply").places, std::vector{place(line + 2, "operator*")})
      << report;
  EXPECT_TRUE(mentions(text_of(report), "\n  at " + place(line, "softmax") + ", " +
                                            place(line + 1, "softmax") + '\n'));
}

// What the library records in a function of its own belongs to the program's call.
TEST_F(MissedMergesTest, TellTheCallOfALayer) {
  record_places();
  const nn::MLP mlp(model, 4, {4, 4});
  constexpr int line = __LINE__ + 3;
  const Report report = run([&](ComputationGraph& graph, unsigned n) {
    const Expression x = input(graph, {4, n}, std::vector<float>(4 * n, 1));
    const Expression y = mlp(x);
    return y;
  });
  for (const Report::MissedMerge& row : report.missed_merges) {
    EXPECT_TRUE(row.places.empty() || row.places[0] == place(line, "nn::MLP::operator()") ||
                row.op == "sum_dim")
        << report;
  }
}

TEST_F(MissedMergesTest, TellPlacesInSamplesOfThreadsAndFibers) {
  record_places();
  options.threads = 2;
  constexpr int line = __LINE__ + 2;
  const auto record = [](ComputationGraph& graph, std::size_t i) {
    const Expression x = softmax(numbers(graph, 5 + static_cast<unsigned>(i) % 5));
    return pick(x, 0u);
  };
  Minibatch threads(options);
  threads.add_losses(20, record);
  threads.forward();
  EXPECT_EQ(row_of(threads.explain(), "softmax").places, std::vector{place(line, "softmax")});
  Minibatch fibers(options);
  std::vector<std::size_t> samples(20);
  std::iota(samples.begin(), samples.end(), 0);
  for_each_sample(fibers, samples, [&](ComputationGraph& graph, std::size_t i) {
    return record(graph, i).value().at(0);
  });
  EXPECT_EQ(row_of(fibers.explain(), "softmax").places, std::vector{place(line, "softmax")});
}

TEST_F(MissedMergesTest, ForgetThePlacesOfWhatIsForgotten) {
  record_places();
  Minibatch batch(options);
  std::set<int> lines;
  for (int round = 0; round < 2; ++round) {
    for (unsigned n = 5; n <= 9; ++n) {
      ComputationGraph& graph = batch.new_graph();
      const Expression x = numbers(graph, n);
      graph.checkpoint();
      softmax(x);
      softmax(x);
      graph.revert();
      constexpr int line = __LINE__ + 1;
      const Expression y = round == 0 ? softmax(x) : x;
      const Expression z = round == 1 ? softmax(y) : y;
      batch.add_output(z);
      lines.insert(line + round);
    }
    batch.forward();
    EXPECT_EQ(row_of(batch.explain(), "softmax").places,
              std::vector{place(*lines.rbegin(), "softmax")});
    batch.clear();
  }
}

TEST_F(MissedMergesTest, PlacesChangeNothingElse) {
  const auto record = [](ComputationGraph& graph, unsigned n) {
    return softmax(tanh(numbers(graph, n)));
  };
  const std::string without = text_of(run(record));
  record_places();
  std::istringstream with(text_of(run(record)));
  std::string text;
  for (std::string line; std::getline(with, line);) {
    if (!line.starts_with("  at ")) text += line + '\n';
  }
  EXPECT_EQ(text, without);
}

}  // namespace
}  // namespace dynet_like
