// Anomalies, memory, draws and checkpoints of recursions, and what their functions may not do;
// random_programs_test runs recursions in all modes.
#include <set>

#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::testing {
namespace {

constexpr unsigned kStates = 6;
using Before = std::vector<Expression>;

struct ModeNetwork {
  Expression step(const Expression& x, const Before& before) const {
    ComputationGraph& graph = *x.pg;
    const Expression sum = affine_transform({parameter(graph, b), parameter(graph, w), x});
    return tanh(before.empty() ? sum : sum + parameter(graph, u) * before[0]);
  }
  Expression columns(ComputationGraph& graph, unsigned n, unsigned first) const {
    std::vector<Expression> rows;
    for (unsigned i = 0; i < n; ++i) rows.push_back(lookup(graph, words, (first + i) % 9));
    return concatenate_cols(rows);
  }

  ParameterCollection model{3};
  LookupParameter words = model.add_lookup_parameters(9, {kStates}, "words");
  Parameter w = model.add_parameters({kStates, kStates}, "W"),
            u = model.add_parameters({kStates, kStates}, "U"),
            b = model.add_parameters({kStates}, ParameterInitUniform(-1, 1), "b");
  Recursion<Expression> rnn = recursion<Expression>(
      [this](const Expression& x, const Before& before) { return step(x, before); }, "rnn");
};

// The operation and the vertex are named, forward and backward.
TEST(RecursionModes, DetectAnomalyNamesTheVertex) {
  ParameterCollection model;
  const Parameter numbers = model.add_parameters({1, 4}, "numbers"),
                  factor = model.add_parameters({1, 1}, ParameterInitConst(1), "factor");
  const auto roots = recursion<Expression>(
      [&](const Expression& x, const std::vector<Expression>& before) {
        const Expression root = sqrt(parameter(*x.pg, factor) * x);
        return before.empty() ? root : root + before[0];
      },
      "roots");
  const GraphOptions options{.detect_anomaly = true};
  const auto error_of = [&](const std::vector<float>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      numbers.values().set(i, static_cast<double>(values[i]));
    }
    ComputationGraph graph(options);
    const auto states = roots(Structure::sequence(4), parameter(graph, numbers));
    return message_of<NumericError>([&] { graph.backward(sum_elems(states.all())); });
  };
  EXPECT_EQ(error_of({1, 4, 9, 16}), "nothing was thrown");
  const std::string forward = error_of({1, 4, -9, 16}), backward = error_of({1, 0, 9, 16});
  EXPECT_TRUE(
      forward.ends_with("nan in element 0 of the value of sqrt in vertex 2 of roots, node "
                        "2 of sample 0, of \"/numbers\", \"/factor\""))
      << forward;
  EXPECT_TRUE(
      backward.ends_with("inf in element 0 of the gradient of matrix_product in vertex 1 of "
                         "roots, node 2 of sample 0, of \"/numbers\", \"/factor\""))
      << backward;
}

// Wherever the vertex stands in its batch, and whichever of its two products it is.
TEST(RecursionModes, DetectAnomalyNamesEveryVertex) {
  constexpr unsigned kVertices = 4, kSamples = 2;
  ParameterCollection model;
  const Parameter weights = model.add_parameters({2, 2}, ParameterInitIdentity());
  const LookupParameter words = model.add_lookup_parameters(kVertices * kSamples, {4});
  for (const bool reads_states : {false, true}) {  // else all vertices are one batch
    const auto roots = recursion<Expression>(
        [&](const Expression& x, const std::vector<Expression>& before) {
          const bool reads = reads_states && !before.empty();
          const Expression all = reads ? x + before[0] * 0.0f : x * 1.0f;
          const auto root = [&](unsigned first) {
            return sqrt(parameter(*x.pg, weights) * pick_range(all, first, first + 2));
          };
          return concatenate({root(0), root(2)});
        },
        "roots");
    const auto error_of = [&](unsigned word, unsigned element, float number) {
      for (unsigned row = 0; row < kVertices * kSamples; ++row) {
        std::vector<float> ones(4, 1);
        if (row == word) ones[element] = number;
        words.initialize(row, ones);
      }
      Minibatch batch({.detect_anomaly = true});
      for (unsigned s = 0; s < kSamples; ++s) {
        ComputationGraph& graph = batch.new_graph();
        std::vector<Expression> columns;
        for (unsigned v = 0; v < kVertices; ++v) {
          columns.push_back(lookup(graph, words, s * kVertices + v));
        }
        const Structure structure =
            s == 0 ? Structure::sequence(kVertices) : Structure::reversed_sequence(kVertices);
        batch.add_loss(sum_elems(roots(structure, concatenate_cols(columns)).all()));
      }
      return message_of<NumericError>([&] {
        batch.forward();
        batch.backward();
      });
    };
    EXPECT_EQ(error_of(0, 0, 4), "nothing was thrown");
    for (unsigned word = 0; word < kVertices * kSamples; ++word) {
      for (const unsigned element : {1u, 3u}) {
        const std::string where =
            "matrix_product in vertex " + std::to_string(word % kVertices) + " of roots";
        const std::string backward = error_of(word, element, 0);
        EXPECT_TRUE(mentions(backward, "the gradient of " + where));
        EXPECT_TRUE(mentions(backward, "of sample " + std::to_string(word / kVertices)));
        weights.values().set(3, 3e38);
        const std::string forward = error_of(word, element, 3e38f);
        EXPECT_TRUE(mentions(forward, "the value of " + where));
        weights.values().set(3, 1);
      }
    }
  }
}

// What a level computes on the way to its states is written over by the next.
TEST(RecursionModes, InferenceReusesWhatOneLevelComputes) {
  constexpr unsigned kWide = 50;
  ParameterCollection model;
  const Parameter in = model.add_parameters({kWide, 1}), out = model.add_parameters({1, kWide});
  const auto narrow =
      recursion<Expression>([&](const Expression& x, const std::vector<Expression>& before) {
        if (before.empty()) return x;
        return tanh(parameter(*x.pg, out) * tanh(parameter(*x.pg, in) * before[0]));
      });
  const auto peak = [&](bool inference, unsigned n) {
    ComputationGraph graph({.inference = inference});
    const std::vector<float> numbers(n);
    narrow(Structure::sequence(n), input(graph, {1, n}, numbers)).last().value();
    return static_cast<double>(graph.explain().peak_bytes);
  };
  const auto per_vertex = [&](bool inference) {
    return (peak(inference, 2000) - peak(inference, 1000)) / 1000;
  };
  EXPECT_GT(per_vertex(false), 2 * kWide * sizeof(float));
  EXPECT_LT(per_vertex(true), 0.5 * kWide * sizeof(float));
}

// Every random operation of a vertex, of each vertex, of nodes before and behind, in every sample.
// Ones of a vector are dropped, so that a value is a mask.
TEST(RecursionModes, NoTwoRandomOperationsDrawTheSame) {
  constexpr unsigned kWide = 96, kVertices = 3;
  const auto masks_of = [](unsigned operations, bool of_cell) {
    const auto noisy = [=](const Expression& x) {
      std::vector<Expression> masks;
      for (unsigned i = 0; i < operations; ++i) masks.push_back(dropout(x, 0.5f));
      return concatenate(masks);
    };
    const auto along = recursion<Expression>(
        [&](const Expression& x, const std::vector<Expression>&) { return noisy(x); }, "noisy");
    const auto step = cell(noisy, "noisy");
    Minibatch batch({.seed = 5});
    std::vector<Expression> all;
    for (unsigned sample = 0; sample < 2; ++sample) {
      ComputationGraph& graph = batch.new_graph();
      const Expression x = input(graph, {kWide}, std::vector<float>(kWide, 1));
      all.push_back(dropout(x, 0.5f));
      for (unsigned call = 0; call < 2; ++call) {
        if (of_cell) all.push_back(step(x));
        const std::vector<Expression> columns(kVertices, x);
        const Structure sequence = Structure::sequence(kVertices);
        if (!of_cell) all.push_back(along(sequence, concatenate_cols(columns)).all());
        all.push_back(dropout(x, 0.5f));
      }
    }
    std::set<std::vector<float>> masks;
    std::size_t drawn = 0;
    for (const Expression& e : all) {
      const std::vector<float> values = as_vector(e.value());
      for (std::size_t at = 0; at < values.size(); at += kWide, ++drawn) {
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(at);
        masks.insert(std::vector<float>(first, first + kWide));
      }
    }
    EXPECT_EQ(drawn, 2 * (3 + 2 * operations * (of_cell ? 1 : kVertices)));
    EXPECT_EQ(masks.size(), drawn);
  };
  for (const bool of_cell : {false, true}) {
    for (const unsigned operations : {1u, 2u, 100u}) {
      SCOPED_TRACE(operations);
      masks_of(operations, of_cell);
    }
  }
}

// What a function does in training, and what it does in inference.
TEST(RecursionModes, DropInTrainingOnly) {
  const auto noisy = [](const Expression& x) { return dropout(x, 0.5f) * 2.0f; };
  const auto step = cell(noisy);
  const auto along = recursion<Expression>(
      [=](const Expression& x, const std::vector<Expression>&) { return noisy(x); });
  const std::vector<float> ones(96, 1), twos(96, 2);
  for (const bool inference : {false, true, false}) {
    ComputationGraph graph({.inference = inference, .seed = 5});
    const Expression x = input(graph, {96}, ones);
    EXPECT_EQ(as_vector(step(x).value()) == twos, inference);
    EXPECT_EQ(as_vector(along(Structure::sequence(1), x).all().value()) == twos, inference);
  }
}

// What it gives to a column that no vertex reads is zero, whichever of two readers runs first: the
// other gives -0 there.
TEST(RecursionModes, ColumnsThatNobodyReadsGetZero) {
  const ModeNetwork network;
  for (const bool is_first : {false, true}) {
    ComputationGraph graph;
    const Expression columns = tanh(network.columns(graph, 2, 0));
    const auto other = [&] { return sum_elems(columns * -0.0f); };
    const auto along = [&] {
      return sum_elems(network.rnn(Structure::sequence(1), columns).last());
    };
    const Expression first = is_first ? along() : other();
    const Expression second = is_first ? other() : along();
    graph.backward(first + second);
    const std::vector<float> gradient = as_vector(columns.gradient());
    for (std::size_t i = kStates; i < 2 * kStates; ++i)
      EXPECT_FALSE(std::signbit(gradient[i])) << i;
  }
}

TEST(RecursionModes, StatesOfClearedGraphsAreRefused) {
  const ModeNetwork network;
  ComputationGraph graph;
  const auto states = network.rnn(Structure::sequence(3), network.columns(graph, 3, 0));
  EXPECT_THROW(states[3], UsageError);
  graph.clear();
  EXPECT_THROW(states.all(), StateError);
  graph.checkpoint();
  const auto others = network.rnn(Structure::sequence(3), network.columns(graph, 3, 0));
  graph.revert();
  EXPECT_THROW(others.last(), StateError);
}

TEST(RecursionModes, WhatFunctionsMayNotDo) {
  const ModeNetwork network;
  ComputationGraph graph, another;
  const Expression columns = network.columns(graph, 3, 0), outside = network.columns(another, 3, 0);
  const auto refused = [&](const std::string& message, auto function) {
    expect_refused<std::exception>(
        message, [&] { recursion<Expression>(function, "cell")(Structure::sequence(3), columns); });
  };
  refused(
      "[value] need a function that looks at no values; got one that does: it is called once for "
      "all "
      "arguments of the same shapes and numbers (in the function \"cell\")",
      [](const Expression& x, const Before&) { return x.value().at(0) > 0 ? tanh(x) : x; });
  refused(
      "[add] need inputs of one graph; got inputs of two: what a function of vertices reads must "
      "be "
      "one of its arguments (in the function \"cell\")",
      [&](const Expression& x, const Before&) { return x + pick(outside, 0u, 1); });
  refused(
      "[cell] need a function whose data are its arguments; got an input made inside: give it as a "
      "column",
      [&](const Expression& x, const Before&) {
        return x + input(*x.pg, {kStates}, std::vector<float>(kStates));
      });
  refused(
      "[cell] need a function of columns; got a lookup inside: look up all rows before, as columns",
      [&](const Expression& x, const Before&) { return x + lookup(*x.pg, network.words, 1); });
  refused(
      "[rnn] need a function that applies no recursion; got one that does: apply it to all columns "
      "first (in the function \"cell\")",
      [&](const Expression& x, const Before&) {
        return ModeNetwork().rnn(Structure::sequence(1), x).last();
      });
  refused("[cell] need states of one shape from all vertices, {6}; got {12}",
          [&](const Expression& x, const Before& before) {
            return before.empty() ? x : concatenate({x, before[0]});
          });
  refused(
      "[cell] need a seed for random numbers; got a graph by itself, without one: set "
      "GraphOptions::seed, call set_seed, or use a Minibatch; with GraphOptions::inference dropout "
      "needs none",
      [](const Expression& x, const Before&) { return dropout(x, 0.5f); });
  expect_refused<ShapeError>(
      "[rnn] need a matrix of at least 4 columns, which the vertices read; got {6,3}",
      [&] { network.rnn(Structure::sequence(4), columns); });
  using Vertices = std::vector<Structure::Vertex>;
  expect_refused<UsageError>(
      "[Structure] need vertices that do not depend on themselves; got vertex 0, which is in a "
      "cycle "
      "or behind one",
      [] {
        Structure(Vertices{{{1}}, {{0}}});
      });
  expect_refused<UsageError>(
      "[Structure] need predecessors among the 2 vertices; got vertex 2 before vertex 1", [] {
        Structure(Vertices{{}, {{2}}});
      });
}

TEST(RecursionModes, RevertedSamplesTakeNoPart) {
  const ModeNetwork network;
  ComputationGraph graph;
  const Expression columns = network.columns(graph, 4, 0);
  const Expression kept = squared_norm(network.rnn(Structure::sequence(4), columns).last());
  graph.checkpoint();
  const Expression other =
      squared_norm(network.rnn(Structure::sequence(3), network.columns(graph, 3, 5)).last());
  values_of({kept, other});
  graph.revert();
  const Expression again =
      kept + squared_norm(network.rnn(Structure::sequence(2), network.columns(graph, 2, 1)).last());
  graph.backward(again);
  ComputationGraph fresh;
  const Expression expected =
      squared_norm(network.rnn(Structure::sequence(4), network.columns(fresh, 4, 0)).last()) +
      squared_norm(network.rnn(Structure::sequence(2), network.columns(fresh, 2, 1)).last());
  fresh.backward(expected);
  EXPECT_FLOAT_EQ(as_scalar(again.value()), as_scalar(expected.value()));
}

}  // namespace
}  // namespace dynet_like::testing
