// Every op gives the same bytes in a batch as alone, generated from the op table.
//
// Items 0, 1, ... of a call are recorded as graphs of a minibatch, as one node with a minibatch
// dimension, or as a mixture of both; values and gradients of every item must be the bytes that the
// item has when it runs alone.
#include <array>
#include <atomic>

#include "tests/ops/trial.h"
#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"

namespace dynet_like::op_cases {
namespace {

/// Numbers of items: one, some, and about as many as vectors have lanes.
std::vector<std::size_t> numbers_of_items() {
  if (runs_slowly()) return {1, 9};
  return {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17};
}
std::size_t most_items() { return numbers_of_items().back(); }

std::vector<std::size_t> uneven_counts(std::size_t n) {
  std::vector<std::size_t> counts;
  for (std::size_t left = n, i = 0; left > 0; ++i) {
    counts.push_back(std::min(left, std::array{1, 3, 2, 1, 1, 4}[i % 6] * std::size_t{1}));
    left -= counts.back();
  }
  return counts;
}

// Where the element of a random op lies in its node is part of its number: only graphs are alike.
bool may_be_one_node(const OpCall& call) { return !call.op->numbers.random && call.inputs() > 0; }

std::vector<std::vector<std::size_t>> layouts(const OpCall& call, std::size_t n) {
  std::vector<std::vector<std::size_t>> result = {std::vector<std::size_t>(n, 1)};
  if (may_be_one_node(call)) {
    result.push_back({n});
    result.push_back(uneven_counts(n));
  }
  return result;
}

// Where one column serves the matrices of several minibatch elements, these are nodes of their own.
bool may_be_split(const OpCall& call) {
  return call.op->batching.by_column != nullptr &&
         std::ranges::any_of(call.shapes.inputs, [](const Dim& dim) { return dim.nd > 1; });
}

// The op's nodes ran in one batch: one call forward, and one backward if its kernel had to run.
void expect_one_batch(const OpCall& call, const Report& report, std::size_t nodes,
                      bool own_inputs) {
  std::size_t found = 0;
  for (const Report::Type& type : report.types) {
    if (type.op != call.op->name) continue;
    if (++found > 1 && call.op == &ops::concatenate && may_be_split(call)) continue;
    if (may_be_split(call) || is_open(call)) {
      EXPECT_GE(type.nodes, nodes);
    } else {
      EXPECT_EQ(type.nodes, nodes);
    }
    EXPECT_EQ(type.batches, 1u);
    EXPECT_EQ(type.forward_calls, 1u);
    EXPECT_LE(type.backward_calls, 1u);
    EXPECT_GE(type.backward_calls, own_inputs ? 1u : 0u);
  }
  if (call.op == &ops::concatenate && may_be_split(call)) found = std::min<std::size_t>(found, 1);
  EXPECT_EQ(found, 1u) << call.op->name;
}

class OpBatchingTest : public ::testing::TestWithParam<OpCall> {
 protected:
  template <class Body>
  void for_each_trial(std::size_t items, bool special, Body&& body) {
    std::size_t number = 0;
    for (const Flags& shared : sharings(GetParam())) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        if (runs_slowly() && ++number % 4 > 1) continue;  // of every arrangement one type
        SCOPED_TRACE(std::string(name_of(dtype)) + ", " + sharing_name(shared));
        Trial trial(GetParam(), dtype, shared, items, special);
        body(trial, dtype, std::count(shared.begin(), shared.end(), 0) > 0);
        if (HasFatalFailure()) return;
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(All, OpBatchingTest, ::testing::ValuesIn(all_calls()), name_of_call);

TEST_P(OpBatchingTest, SameBytesAsAloneInOneBatch) {
  for_each_trial(most_items(), false, [&](Trial& trial, DType dtype, bool own_inputs) {
    const Reference alone(trial);
    for (const std::size_t n : numbers_of_items()) {
      for (const auto& counts : layouts(GetParam(), n)) {
        const Outcomes batch = trial.together(counts);
        expect_equal(alone, batch, dtype);
        expect_one_batch(GetParam(), batch.report, counts.size(), own_inputs);
        if (HasFailure()) FAIL() << n << " items in " << counts.size() << " graphs";
      }
    }
  });
}

// A NaN may have other bits, but stands in the same places.
TEST_P(OpBatchingTest, SameBytesOfSpecialValues) {
  for_each_trial(most_items(), true, [&](Trial& trial, DType dtype, bool) {
    const Reference alone(trial);
    for (std::size_t n : {std::size_t{7}, most_items()}) {
      for (const auto& counts : layouts(GetParam(), n)) {
        expect_equal(alone, trial.together(counts), dtype, Nan::by_place);
        if (HasFailure()) FAIL() << n << " items in " << counts.size() << " graphs";
      }
    }
  });
}

// Nodes with different parameters in one place join where that place is stacked, and only there.
TEST_P(OpBatchingTest, DifferentParametersJoinWhereStacked) {
  Random random(47);
  const std::vector<Item> items = draw_items(GetParam(), 5, random);
  for (std::size_t j = 0; j < GetParam().inputs(); ++j) {
    ParameterCollection collection;
    Minibatch batch;
    for (const Item& item : items) {
      ComputationGraph& graph = batch.new_graph();
      const std::span<const Item> one(&item, 1);
      std::vector<Expression> inputs;
      for (std::size_t k = 0; k < GetParam().inputs(); ++k) {
        inputs.push_back(k == j ? Argument(collection, GetParam(), k, item.inputs[k]).in(graph)
                                : input(graph, GetParam().shapes.inputs[k], joined_input(one, k)));
      }
      batch.add_output(record(graph, GetParam(), inputs, one));
    }
    batch.forward();
    const bool stacked = GetParam().op->joins(static_cast<unsigned>(j),
                                              GetParam().shapes.attributes) == Join::stacked;
    EXPECT_EQ(batch.explain().batches, stacked ? 1u : items.size()) << "input " << j;
  }
}

TEST_P(OpBatchingTest, SurvivesVerification) {
  for_each_trial(most_items(), false, [&](Trial& trial, DType dtype, bool) {
    const Reference alone(trial);
    trial.options().verify_batching = true;
    for (const auto& counts : layouts(GetParam(), most_items())) {
      expect_equal(alone, trial.together(counts), dtype);
      if (runs_slowly()) break;
    }
  });
}

class OpStretchedBatchingTest : public OpBatchingTest {};

INSTANTIATE_TEST_SUITE_P(All, OpStretchedBatchingTest,
                         ::testing::ValuesIn(calls_where([](const OpCall& call) {
                           return may_be_one_node(call) && call.inputs() > 1;
                         })),
                         name_of_call);

// An argument of a single item serves all items of a node; its gradient is the sum of theirs, from
// the last to the first.
TEST_P(OpStretchedBatchingTest, OneItemServesAll) {
  for (std::size_t j = 0; j < GetParam().inputs(); ++j) {
    Random random(41);
    std::vector<Item> items = draw_items(GetParam(), most_items(), random);
    for (Item& item : items) item.inputs[j] = items[0].inputs[j];
    ParameterCollection collection;
    const Lift lift(*GetParam().op, collection);
    const auto run = [&](std::span<const Item> some) {
      ComputationGraph graph;
      std::vector<Expression> inputs;
      for (std::size_t k = 0; k < GetParam().inputs(); ++k) {
        const auto given = k == j ? some.first(1) : some;
        const Dim dim = minibatch_of(GetParam().shapes.inputs[k], given.size());
        inputs.push_back(lift(input(graph, dim, joined_input(given, k))));
      }
      const Expression output = record(graph, GetParam(), inputs, some);
      const Dim dim = output.dim();
      Random same(43);
      const auto weights = converted<float>(draw_weights(dim.batch_size(), same));
      const Expression loss = squared_distance(output, input(graph, dim.single_batch(), weights));
      graph.backward(loss);
      return std::pair(as_vector(output.value()), as_vector(inputs[j].gradient()));
    };
    const auto [values, gradient] = run(items);
    std::vector<float> expected_values, expected;
    for (std::size_t i = items.size(); i-- > 0;) {
      const auto [value, term] = run(std::span(&items[i], 1));
      expected_values.insert(expected_values.begin(), value.begin(), value.end());
      if (expected.empty()) {
        expected = term;
        continue;
      }
      for (std::size_t e = 0; e < term.size(); ++e) expected[e] = expected[e] + term[e];
    }
    EXPECT_EQ(values, expected_values) << "input " << j;
    if (may_be_split(GetParam())) {  // each column may be a term of its own
      for (std::size_t e = 0; e < expected.size(); ++e) {
        EXPECT_NEAR(gradient[e], expected[e], 1e-5f * (1 + std::abs(expected[e]))) << "input " << j;
      }
    } else {
      EXPECT_EQ(gradient, expected) << "input " << j;
    }
  }
}

// In how many calls a device with three threads runs a batch of n.
std::size_t calls_of_three_threads(Signature type, std::size_t n) {
  type.saved_size = 0;  // every call sees the one counter
  std::atomic<std::size_t> calls = 0;
  const std::vector<Operand> in(type.inputs.size());
  std::vector<std::byte> out(n * type.output_size * size_of(type.dtype));
  const ForwardCall call{
      &type, n, in.data(), {out.data(), type.output_size}, &calls, nullptr, nullptr, nullptr, {}};
  const Kernels::Forward count = [](const ForwardCall& part) {
    ++*static_cast<std::atomic<std::size_t>*>(part.saved);
  };
  make_cpu_queue(std::make_shared<ThreadPool>(3))->forward(count, call);
  return calls;
}

// So many items are worth the work of three threads.
std::size_t items_for_three_threads(const OpCall& call) {
  const Signature type = signature_of(call, DType::f32);
  const double cost = call.op->cost == nullptr ? double(type.output_size) : call.op->cost(type);
  return static_cast<std::size_t>(std::ceil(310'000 / cost));
}

// All but those whose items are so small that there would have to be too many of them, or so large
// that a few of them are enough.
bool can_be_split(const OpCall& call) {
  if (call.op->numbers.integer_count != nullptr)
    return false;  // their number follows from the shape
  const std::size_t items = items_for_three_threads(enlarged(call));
  return call.inputs() > 0 && items >= 12 && items <= 20'000;
}
std::vector<OpCall> calls_to_split() {
  // Of every op the first, and the last.
  const std::vector<OpCall> all = calls_where(can_be_split);
  std::vector<OpCall> some;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_first = i == 0 || all[i - 1].op != all[i].op;
    const bool is_last = i + 1 == all.size() || all[i + 1].op != all[i].op;
    if (is_first || (is_last && !kSlowBuild)) some.push_back(all[i]);
  }
  return some;
}

class OpThreadsTest : public OpBatchingTest {};

INSTANTIATE_TEST_SUITE_P(All, OpThreadsTest, ::testing::ValuesIn(calls_to_split()), name_of_call);

TEST_P(OpThreadsTest, SameBytesWithThreads) {
  const OpCall call = enlarged(GetParam());
  const Signature type = signature_of(call, DType::f32);
  const std::size_t n = items_for_three_threads(call);
  ASSERT_EQ(calls_of_three_threads(type, n), 3u) << "such a batch is expected to be split";

  for (const Flags& shared : sharings(call)) {
    SCOPED_TRACE(sharing_name(shared));
    Trial trial(call, DType::f32, shared, n);
    const std::vector<std::size_t> counts = {1, n / 2, n - n / 2 - 1};
    const Outcomes one = trial.together(counts);
    trial.options().threads = 3;
    const Outcomes three = trial.together(counts);
    ASSERT_EQ(one.parameters, three.parameters);
    for (std::size_t i = 0; i < n; i += kSlowBuild ? 16 : 1) {
      ASSERT_EQ(one.items[i].value, three.items[i].value) << i << " of " << n;
      ASSERT_EQ(one.items[i].gradients, three.items[i].gradients) << i << " of " << n;
    }
    for (std::size_t i : {std::size_t{0}, n / 3, n / 2, n - 1}) {
      if (call.op->numbers.random) break;
      Gradients gradients;
      trial.options().threads = 1;
      const Outcome alone = trial.alone(i, i, gradients);
      ASSERT_EQ(alone.value, three.items[i].value) << i << " of " << n;
      ASSERT_EQ(alone.gradients, three.items[i].gradients) << i << " of " << n;
    }
    if (kSlowBuild) return;
  }
}

// Calls that differ in an attribute, a shape or an argument stay apart, and all others together.
TEST(OpBatchingMixtureTest, EveryCallOfEveryOpInOneMinibatch) {
  constexpr std::size_t kItems = 3;
  for (const DType dtype : {DType::f32, DType::f64}) {
    std::vector<std::unique_ptr<Trial>> trials;
    for (const OpCall& call : all_calls()) {
      Flags shared(call.inputs(), 0);
      for (std::size_t j = 0; j < call.inputs(); ++j) shared[j] = must_share(call, j);
      trials.push_back(std::make_unique<Trial>(call, dtype, shared, kItems));
    }
    GraphOptions options;
    options.dtype = dtype;
    Minibatch batch(options);
    std::vector<Trial::Recorded> recorded;
    for (std::size_t i = 0; i < kItems * trials.size(); ++i) {
      const Trial& trial = *trials[i % trials.size()];
      recorded.push_back(trial.record_items(batch.new_graph(), i / trials.size(), 1));
      batch.add_loss(recorded.back().loss);
    }
    batch.forward();
    batch.backward();
    for (std::size_t i = 0; i < recorded.size(); ++i) {
      std::vector<Outcome> outcome;
      Trial::add_outcomes(recorded[i], 1, outcome);
      Gradients gradients;
      const Outcome alone = trials[i % trials.size()]->alone(i / trials.size(), i, gradients);
      const std::string name = all_calls()[i % trials.size()].name;
      ASSERT_EQ(outcome[0].value, alone.value) << name;
      ASSERT_EQ(outcome[0].gradients, alone.gradients) << name;
    }
  }
}

}  // namespace
}  // namespace dynet_like::op_cases
