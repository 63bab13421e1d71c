// Values that are forgotten before they have run: freed after their last reader, part by part.
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using Floats = std::vector<float>;

class PassingValuesTest : public ::testing::Test {
 protected:
  static GraphOptions options(std::size_t limit = 0, unsigned threads = 1) {
    return {.threads = threads, .inference = true, .memory_limit = limit};
  }

  // A layer of many steps, of which only the result is read.
  Expression layer(ComputationGraph& graph, unsigned word, bool forgets = true) const {
    const std::size_t first = graph.size();
    const Expression x = lookup(graph, table_, word);
    Expression y = x;
    for (unsigned i = 0; i < 10; ++i) y = tanh(parameter(graph, w_) * y + x);
    const Expression result = sum_elems(y);
    if (forgets) graph.forget_values(first, graph.size() - 1);
    return result;
  }
  // Parts of a long sample, and what is made of all of them.
  Expression parts(ComputationGraph& graph, unsigned count, bool forgets = true) const {
    std::vector<Expression> results;
    for (unsigned i = 0; i < count; ++i) {
      results.push_back(layer(graph, i % 10, forgets));
    }
    return average(results);
  }
  Floats alone(unsigned count) const {
    ComputationGraph graph;
    return as_vector(parts(graph, count).value());
  }

  ParameterCollection model_{1};
  Parameter w_ = model_.add_parameters({32, 32});
  LookupParameter table_ = model_.add_lookup_parameters(10, {32});
};

TEST_F(PassingValuesTest, HaveTheirBitsWhenTheyAreAskedFor) {
  for (const std::size_t limit : {0, 2000}) {
    ComputationGraph graph(options(limit)), training;
    const auto all_of = [&](ComputationGraph& of) {
      std::vector<Expression> all;
      const std::size_t first = of.size();
      for (unsigned i = 0; i < 30; ++i) {
        all.push_back(tanh(lookup(of, table_, i % 10) + (i < 3 ? ones(of, {32}) : all[i - 3])));
        if (i % 4 == 3) of.forget_values(first, of.size() - 1);
      }
      return all;
    };
    const std::vector<Expression> all = all_of(graph), expected = all_of(training);
    for (const unsigned i : {29u, 11u, 28u, 0u, 29u}) {
      EXPECT_EQ(as_vector(all[i].value()), as_vector(expected[i].value())) << i;
    }
  }
}

// How samples run: each gives the peak of its memory.
struct Way {
  const char* name;
  std::function<std::uint64_t(const GraphOptions&,
                              const std::function<Expression(ComputationGraph&)>&, const Floats&)>
      peak;
};

const std::vector<Way> kWays = {
    {"value",
     [](const auto& options, const auto& record, const auto& expected) {
       ComputationGraph graph(options);
       EXPECT_EQ(as_vector(record(graph).value()), expected);
       return graph.explain().peak_bytes;
     }},
    {"waves",
     [](const auto& options, const auto& record, const auto& expected) {
       Minibatch batch(options);
       const auto found = for_each_sample(batch, 4, [&](ComputationGraph& graph, std::size_t) {
         return as_vector(record(graph).value());
       });
       for (const Floats& one : found) EXPECT_EQ(one, expected);
       return batch.explain().peak_bytes;
     }},
    {"arriving",
     [](const auto& options, const auto& record, const auto& expected) {
       Minibatch batch(options);
       unsigned come = 0;
       for_each_arriving(
           batch, 2, [&](bool) { return come < 6 ? std::optional(come++) : std::nullopt; },
           [&](ComputationGraph& graph, unsigned) {
             EXPECT_EQ(as_vector(record(graph).value()), expected);
           });
       return batch.explain().peak_bytes;
     }},
    {"outputs",
     [](const auto& options, const auto& record, const auto& expected) {
       Minibatch batch(options);
       std::vector<Expression> all;
       for (unsigned i = 0; i < 4; ++i) {
         all.push_back(record(batch.new_graph()));
         batch.add_output(all.back());
       }
       batch.forward();
       for (const Expression& one : all) EXPECT_EQ(as_vector(one.value()), expected);
       return batch.explain().peak_bytes;
     }},
    {"recorded beside others",
     [](const auto& options, const auto& record, const auto& expected) {
       Minibatch batch(options);
       const auto all = batch.record(4, [&](auto& graph, std::size_t) { return record(graph); });
       batch.compute(all);
       for (const Expression& one : all) EXPECT_EQ(as_vector(one.value()), expected);
       return batch.explain().peak_bytes;
     }},
};

TEST_F(PassingValuesTest, TakeNoMoreMemoryInLongSamples) {
  for (const Way& way : kWays) {
    for (const unsigned threads : {1u, 3u}) {
      SCOPED_TRACE(std::string(way.name) + ", " + std::to_string(threads));
      const auto peak = [&](unsigned count, bool forgets, std::size_t limit) {
        return way.peak(
            options(limit, threads),
            [&](ComputationGraph& graph) { return parts(graph, count, forgets); }, alone(count));
      };
      constexpr std::size_t kLimit = 40000;
      const std::uint64_t some = peak(20, true, kLimit), many = peak(200, true, kLimit);
      EXPECT_LT(many, some + 4 * 180 * 64) << "the results of 180 parts more, in cache lines";
      EXPECT_GT(peak(200, false, 0), 3 * many);
    }
  }
}

// Without a limit there is one of many megabytes, below which all parts share their batches.
TEST_F(PassingValuesTest, RunTogetherIfTheyAreFew) {
  ComputationGraph graph(options()), limited(options(2000));
  parts(graph, 20).value();
  parts(limited, 20).value();
  EXPECT_LT(graph.explain().batches, 60u);
  EXPECT_GT(limited.explain().batches, 5 * graph.explain().batches);
}

// What all samples do after their parts is done together.
TEST_F(PassingValuesTest, TheEndsOfSamplesShareBatches) {
  Minibatch batch(options(2000));
  std::vector<Expression> all;
  for (unsigned i = 0; i < 6; ++i) all.push_back(exp(parts(batch.new_graph(), 2 + i)));
  batch.compute(all);
  for (const Report::Type& type : batch.explain().types) {
    if (type.op == "exp") {
      EXPECT_EQ(type.batches, 1u);
    }
  }
}

// The batch of a value that was freed is gone, and its number may be another's.
TEST_F(PassingValuesTest, AreRevertedAfterTheirBatch) {
  ComputationGraph graph(options());
  const Expression x = tanh(lookup(graph, table_, 0u));
  const Floats expected = as_vector((x + 2.0f).value());
  graph.checkpoint();
  const std::size_t first = graph.size();
  const Expression y = tanh(x), z = tanh(y);
  graph.forget_values(first, graph.size() - 1);
  graph.checkpoint();
  (z + y).value();
  graph.forget_values(first, graph.size());
  graph.revert();
  graph.revert();
  EXPECT_EQ(as_vector((x + 2.0f).value()), expected);
  EXPECT_EQ(as_vector(tanh(tanh(x)).value()), [&] {
    ComputationGraph other;
    return as_vector(tanh(tanh(tanh(lookup(other, table_, 0u)))).value());
  }());
}

// Samples that arrive and end drop the batches without values, while others go on.
TEST_F(PassingValuesTest, AreRevertedAfterBatchesWereDropped) {
  Minibatch batch(options());
  unsigned come = 0;
  std::vector<Floats> found;
  for_each_arriving(
      batch, 2, [&](bool) { return come < 400 ? std::optional(come++) : std::nullopt; },
      [&](ComputationGraph& graph, unsigned i) {
        if (i > 0) {  // many short ones
          parts(graph, 1).value();
          return;
        }
        const Expression x = lookup(graph, table_, 1u);
        graph.checkpoint();
        const std::size_t first = graph.size();
        const Expression y = layer(graph, 2);
        for (unsigned k = 0; k < 150; ++k) (y + static_cast<float>(k)).value();
        graph.forget_values(first, graph.size());
        for (unsigned k = 0; k < 150; ++k) (x + static_cast<float>(k)).value();
        graph.revert();
        found.push_back(as_vector(layer(graph, 3).value()));
      });
  ComputationGraph alone;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], as_vector(layer(alone, 3).value()));
}

// Between parts, batches without values are dropped; what ran is counted all the same.
TEST_F(PassingValuesTest, AreCountedAfterTheirBatchesWereDropped) {
  ComputationGraph limited(options(2000)), graph(options());
  EXPECT_EQ(as_vector(parts(limited, 200).value()), alone(200));
  parts(graph, 200).value();
  const Report found = limited.explain(), expected = graph.explain();
  EXPECT_GT(found.batches, 2000u);
  EXPECT_EQ(found.nodes, expected.nodes);
  EXPECT_EQ(found.bound, expected.bound);
  EXPECT_EQ(found.recomputed, 0u);
}

// The batch of a value that all samples share gets another number, and is kept when they end.
TEST_F(PassingValuesTest, SharedValuesThatCameLateOutliveDroppedBatches) {
  Minibatch batch(options());
  for (unsigned round = 0; round < 3; ++round) {
    unsigned come = 0;
    for_each_arriving(
        batch, 2, [&](bool) { return come < 200 ? std::optional(come++) : std::nullopt; },
        [&](ComputationGraph& graph, unsigned i) {
          for (unsigned k = 0; k < 5; ++k) parts(graph, 1).value();
          if (i < 20) return;
          const Expression shared = sum_elems(exp(parameter(graph, w_)));
          ComputationGraph other;
          EXPECT_EQ(as_vector(shared.value()),
                    as_vector(sum_elems(exp(parameter(other, w_))).value()));
        });
    batch.clear();
  }
}

TEST_F(PassingValuesTest, AreComputedOnce) {
  ComputationGraph graph(options(2000)), training;
  const Expression mean = parts(graph, 20);
  parts(training, 20).value();
  EXPECT_EQ(as_vector(mean.value()), alone(20));
  EXPECT_EQ(graph.explain().nodes, training.explain().nodes);
  EXPECT_EQ(graph.explain().recomputed, 0u);
}

}  // namespace
}  // namespace dynet_like
