// Minibatch::record and add_losses: samples recorded beside each other are those recorded one by
// one.
#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "dynet_like/tape/tape.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using namespace detail;

constexpr unsigned kSamples = 40;

// So that threads take turns, also on one core.
void dawdle(std::size_t sample) {
  if (sample % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
}

// An argument that nodes must share though it follows from no parameter: a type of its own.
const Op& gated_op() {
  static const Op op = [] {
    Op result;
    result.name = "gated";
    result.formula = "x, if the gate is open";
    result.min_inputs = result.max_inputs = 2;
    result.batching.join = [](unsigned input, std::span<const std::uint32_t>) {
      return input == 0 ? Join::shared : Join::stacked;
    };
    result.shape = [](std::span<const Dim> in, std::span<const std::uint32_t>) { return in[1]; };
    return result;
  }();
  return op;
}

class ParallelRecordingTest : public ::testing::Test {
 protected:
  // New types, shapes and values of parameters alone appear in many samples, in different orders.
  Expression loss_of(ComputationGraph& graph, std::size_t sample) {
    dawdle(sample);
    const auto s = static_cast<unsigned>(sample);
    Expression x = lookup(graph, table, s % 10);
    for (unsigned i = 0; i < 2 + s % 4; ++i) {
      x = dropout(tanh(affine_transform({parameter(graph, bias), parameter(graph, w), x})), 0.2f);
    }
    const Expression derived =
        (s / 5) % 2 == 0 ? tanh(parameter(graph, w)) : exp(parameter(graph, w));
    const Expression scaled =
        cmult(parameter(graph, w), derived * (1.0f + static_cast<float>(s % 7)));
    const Expression part = pick_range(scaled * x, s % 5, s % 5 + 1 + s % 3);
    const Expression odd = input(graph, Dim({1 + s % 6}), std::vector<float>(1 + s % 6, 0.5f));
    return cross_entropy(x, s % 8) + sum_elems(square(part)) + sum_elems(exp(odd));
  }

  void record(Minibatch& batch, unsigned threads) {
    if (threads == 0) {
      for (unsigned i = 0; i < kSamples; ++i) batch.add_loss(loss_of(batch.new_graph(), i));
    } else {
      batch.add_losses(kSamples,
                       [&](ComputationGraph& graph, std::size_t i) { return loss_of(graph, i); });
    }
  }

  // Everything that running sees: types, values, numbers.
  static std::string describe(Minibatch& batch) {
    std::ostringstream text;
    for (std::size_t sample = 0; sample < batch.size(); ++sample) {
      const Tape& tape = batch.graph(sample).record().tape();
      text << "seed " << *tape.random.seed << '\n';
      for (NodeId node = 0; node < tape.size(); ++node) {
        const NodeType& type = tape.type_of(node);
        text << type.op->name << ' ' << tape.node(node).type << ' ' << type.signature.output;
        for (ValueId input : tape.inputs_of(node)) text << ' ' << input;
        if (type.signature.integers > 0) {
          for (std::uint32_t integer : tape.integers_of(node)) text << " #" << integer;
        }
        text << '\n';
      }
      for (ValueId id = 0; id < tape.values().size(); ++id) {
        const Value& value = tape.value(id);
        text << value.node << ' ' << value.offset << ' ' << value.shape << ' ' << value.identity
             << ' ' << value.items << ' ' << value.reaches_parameter << '\n';
      }
    }
    return text.str();
  }

  GraphOptions options;
  ParameterCollection model;
  Parameter w = model.add_parameters({8, 8}), bias = model.add_parameters({8});
  LookupParameter table = model.add_lookup_parameters(10, {8});
};

TEST_F(ParallelRecordingTest, RecordsWhatRecordingOneByOneRecords) {
  std::string expected;
  std::vector<float> gradient, row;
  float loss = 0;
  for (unsigned threads = 0; threads <= 4; ++threads) {
    options.threads = std::max(1u, threads);
    Minibatch batch(options);
    record(batch, threads);
    const std::string description = describe(batch);
    const float total = batch.forward();
    const Gradients& gradients = batch.backward();
    if (threads == 0) {
      expected = description;
      loss = total;
      gradient = gradients.values(w);
      row = gradients.values(table, 3);
      continue;
    }
    EXPECT_EQ(description, expected) << threads << " threads";
    EXPECT_EQ(total, loss);
    EXPECT_EQ(gradients.values(w), gradient);
    EXPECT_EQ(gradients.values(table, 3), row);
  }
}

TEST_F(ParallelRecordingTest, GoesOnAfterClearAndBesideOtherSamples) {
  Minibatch serial(options);
  options.threads = 3;
  Minibatch parallel(options);
  for (unsigned round = 0; round < 4; ++round) {
    const auto sample_of = [&](ComputationGraph& graph, std::size_t i) {
      return loss_of(graph, i * (round + 1) + round);
    };
    // Samples before and after, and more operations in graphs that threads have recorded.
    for (Minibatch* batch : {&serial, &parallel}) {
      batch->add_loss(sample_of(batch->new_graph(), 100));
      if (batch == &serial) {
        for (std::size_t i = 0; i < 9; ++i) batch->add_loss(sample_of(batch->new_graph(), i));
      } else {
        batch->add_losses(9, sample_of);
        batch->add_losses(0, sample_of);
      }
      batch->add_loss(sample_of(batch->new_graph(), 200));
      batch->add_loss(sum_elems(
          log(input(batch->graph(5), Dim({3 + round}), std::vector<float>(3 + round, 2.0f)))));
    }
    EXPECT_EQ(parallel.size(), 11u);
    EXPECT_EQ(describe(parallel), describe(serial)) << round;
    EXPECT_EQ(parallel.forward(), serial.forward());
    EXPECT_EQ(parallel.backward().values(w), serial.backward().values(w));
    serial.clear();
    parallel.clear();
  }
}

TEST_F(ParallelRecordingTest, HandsSamplesToSeveralThreads) {
  options.threads = 4;
  Minibatch batch(options);
  std::atomic<unsigned> inside = 0, most = 0;
  batch.add_losses(8, [&](ComputationGraph& graph, std::size_t) {
    const unsigned now = ++inside;
    for (unsigned seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    --inside;
    return input(graph, 1.0f);
  });
  EXPECT_GT(most, 1u);
  EXPECT_LE(most, 4u);
  EXPECT_EQ(batch.forward(), 8.0f);
}

TEST_F(ParallelRecordingTest, NumbersArgumentsOfSingleGraphs) {
  const auto record = [&](ComputationGraph& graph, std::size_t sample) {
    dawdle(sample);
    const Expression gate = input(graph, 1.0f), x = input(graph, Dim({2}), {1, 2});
    const Expression inputs[] = {gate, x};
    const Expression first = apply_op(gated_op(), inputs), second = apply_op(gated_op(), inputs);
    EXPECT_EQ(graph.record().tape().node(graph.record().tape().value(first.i).node).type,
              graph.record().tape().node(graph.record().tape().value(second.i).node).type);
    return sum_elems(first);
  };
  Minibatch serial(options);
  for (unsigned i = 0; i < 12; ++i) record(serial.new_graph(), i);
  options.threads = 3;
  Minibatch parallel(options);
  parallel.add_losses(12, record);
  EXPECT_EQ(describe(parallel), describe(serial));
}

TEST_F(ParallelRecordingTest, ThrowsWhatTheFirstBadSampleThrows) {
  for (unsigned threads : {1u, 2u, 4u}) {
    options.threads = threads;
    Minibatch batch(options);
    batch.add_loss(loss_of(batch.new_graph(), 0));
    // Later samples may fail earlier; the first one counts.
    const auto record = [&](ComputationGraph& graph, std::size_t i) {
      if (i == 5) {
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        return tanh(lookup(graph, table, 1) + input(graph, Dim({3}), {1, 2, 3}));
      }
      if (i > 5) lookup(graph, table, 10);
      return loss_of(graph, i);
    };
    expect_refused<ShapeError>(
        "[add] need equal shapes, up to dimensions of size 1; got {8} {3}, in sample 6",
        [&] { batch.add_losses(kSamples, record); });
    EXPECT_EQ(batch.size(), 1 + kSamples);
    const float loss = batch.forward();  // of the one before
    EXPECT_EQ(batch.backward().values(w).size(), 64u);
    batch.clear();
    batch.add_losses(3, [&](ComputationGraph& graph, std::size_t i) { return loss_of(graph, i); });
    EXPECT_GT(batch.forward(), loss);
  }
}

TEST_F(ParallelRecordingTest, PassesExceptionsOfTheUserOn) {
  struct Own : ShapeError {
    using ShapeError::ShapeError;
  };
  options.threads = 2;
  Minibatch batch(options);
  expect_refused<Own>("mine 0", [&] {
    batch.add_losses(9, [](ComputationGraph&, std::size_t i) -> Expression {
      throw Own("mine " + std::to_string(i));
    });
  });
  EXPECT_THROW(batch.add_losses(2, [](ComputationGraph&, std::size_t) -> Expression { throw 17; }),
               int);
}

// The message that an action inside add_losses ends with, which must not depend on the threads.
template <class Action>
std::string refusal(GraphOptions options, Action action) {
  std::string first;
  for (unsigned threads : {1u, 2u}) {
    options.threads = threads;
    Minibatch batch(options);
    const std::string message = message_of<UsageError>([&] {
      batch.add_losses(4, [&](ComputationGraph& graph, std::size_t) {
        const Expression x = input(graph, 1.0f);
        action(batch, graph, x);
        return x;
      });
    });
    if (threads == 1) first = message;
    EXPECT_EQ(message, first);
    // Afterwards everything can be asked for again.
    EXPECT_EQ(as_scalar(input(batch.graph(0), 2.0f).value()), 2.0f);
    batch.clear();
  }
  return first;
}

TEST_F(ParallelRecordingTest, RunsNothingInside) {
  using Graph = ComputationGraph;
  const auto refused = [&](const std::string& name, auto action) {
    const std::string message = refusal(options, action);
    EXPECT_TRUE(mentions(message, "[" + name + "] need"));
    EXPECT_TRUE(mentions(message, "add_losses") && mentions(message, "in sample 0"));
  };
  refused("value", [](Minibatch&, Graph&, const Expression& x) { x.value(); });
  refused("values_of", [](Minibatch&, Graph&, const Expression& x) { values_of({x}); });
  refused("backward", [](Minibatch&, Graph& graph, const Expression& x) { graph.backward(x); });
  refused("gradient", [](Minibatch&, Graph&, const Expression& x) { x.gradient(); });
  refused("checkpoint", [](Minibatch&, Graph& graph, const Expression&) { graph.checkpoint(); });
  refused("revert", [](Minibatch&, Graph& graph, const Expression&) { graph.revert(); });
  refused("invalidate", [](Minibatch&, Graph& graph, const Expression&) { graph.invalidate(); });
  refused("explain", [](Minibatch&, Graph& graph, const Expression&) { graph.explain(); });
  refused("new_graph", [](Minibatch& batch, Graph&, const Expression&) { batch.new_graph(); });
  refused("Minibatch::graph", [](Minibatch& batch, Graph&, const Expression&) { batch.graph(0); });
  refused("add_loss", [](Minibatch& batch, Graph&, const Expression& x) { batch.add_loss(x); });
  refused("add_output", [](Minibatch& batch, Graph&, const Expression& x) { batch.add_output(x); });
  refused("forward", [](Minibatch& batch, Graph&, const Expression&) { batch.forward(); });
  refused("backward", [](Minibatch& batch, Graph&, const Expression&) { batch.backward(); });
  refused("clear", [](Minibatch& batch, Graph&, const Expression&) { batch.clear(); });
  refused("explain", [](Minibatch& batch, Graph&, const Expression&) { batch.explain(); });
  refused("record", [](Minibatch& batch, Graph&, const Expression& x) {
    batch.record(1, [&](Graph&, std::size_t) { return x; });
  });
  refused("record", [](Minibatch& batch, Graph&, const Expression& x) {
    batch.add_losses(0, [&](Graph&, std::size_t) { return x; });
  });
}

TEST_F(ParallelRecordingTest, RefusesLossesThatAreNone) {
  options.threads = 2;
  Minibatch batch(options);
  Expression of_another = input(batch.new_graph(), 1.0f);
  expect_refused<UsageError>(
      "...[record] need an expression of this graph; got one of another, in sample 1...",
      [&] { batch.add_losses(2, [&](ComputationGraph&, std::size_t) { return of_another; }); });
  expect_refused<StateError>("...[add_losses] need an expression of a living graph...", [&] {
    batch.add_losses(2, [](ComputationGraph&, std::size_t) { return Expression(); });
  });
  expect_refused<ShapeError>("[add_losses] need a loss of one number; got {2}, in sample 5", [&] {
    batch.add_losses(2, [](ComputationGraph& graph, std::size_t) {
      return input(graph, Dim({2}), {1, 2});
    });
  });
}

TEST_F(ParallelRecordingTest, ReturnsWhatSamplesReturn) {
  options.threads = 3;
  options.inference = true;
  Minibatch batch(options);
  const std::vector<Expression> outputs =
      batch.record(20, [&](ComputationGraph& graph, std::size_t i) {
        dawdle(i);
        return lookup(graph, table, static_cast<unsigned>(i % 10)) * 2.0f;
      });
  ASSERT_EQ(outputs.size(), 20u);
  for (const Expression& output : outputs) batch.add_output(output);
  EXPECT_EQ(batch.forward(), 0.0f);
  for (unsigned i = 0; i < 20; ++i) {
    EXPECT_EQ(outputs[i].pg, &batch.graph(i));
    const float first = static_cast<float>(table.values(i % 10).at(0));
    EXPECT_EQ(as_vector(outputs[i].value())[0], 2 * first);
  }
}

TEST_F(ParallelRecordingTest, ForgetsParametersThatAreGone) {
  options.threads = 2;
  Minibatch batch(options);
  for (unsigned size : {2u, 3u, 2u, 5u, 4u}) {
    // The next one may well lie where this one was.
    ParameterCollection passing;
    const Parameter p = passing.add_parameters({size}, ParameterInitConst(1));
    batch.add_losses(6, [&](ComputationGraph& graph, std::size_t) {
      EXPECT_EQ(parameter(graph, p).dim(), Dim({size}));
      return sum_elems(parameter(graph, p));
    });
    EXPECT_EQ(batch.forward(), 6.0f * static_cast<float>(size));
    batch.clear();
  }
}

TEST_F(ParallelRecordingTest, RunsNoEarlierSamplesInside) {
  for (const unsigned threads : {1u, 3u}) {
    options.threads = threads;
    Minibatch batch(options);
    const Expression early = tanh(parameter(batch.new_graph(), bias));
    const std::string message = message_of<UsageError>([&] {
      batch.record(4, [&](ComputationGraph& graph, std::size_t) {
        early.value();
        return input(graph, 1.0f);
      });
    });
    EXPECT_TRUE(mentions(message, "[value] need a graph that is recorded alone"));
    EXPECT_EQ(early.value().d, Dim({8}));
  }
}

}  // namespace
}  // namespace dynet_like
