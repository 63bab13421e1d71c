// cell(f): what its function gets and may do, how calls batch, and errors.
#include <array>
#include <stdexcept>

#include "tests/support/message_of.h"
#include "tests/support/modes.h"
#include "tests/support/precompiled.h"

namespace dynet_like::testing {
namespace {

constexpr unsigned kSize = 6;

class Cells : public ::testing::Test {
 protected:
  Expression word(ComputationGraph& graph, unsigned number) const {
    return lookup(graph, words, number % 9);
  }
  Expression step(const Expression& x, const Expression& h) const {
    ComputationGraph& graph = *x.pg;
    return tanh(
        affine_transform({parameter(graph, b), parameter(graph, w), x, parameter(graph, u), h}));
  }
  auto step_cell() const {
    return cell([this](const Expression& x, const Expression& h) { return step(x, h); }, "step");
  }

  ParameterCollection model{3};
  LookupParameter words = model.add_lookup_parameters(9, {kSize}, "words");
  Parameter w = model.add_parameters({kSize, kSize}, "W"),
            u = model.add_parameters({kSize, kSize}, "U"),
            b = model.add_parameters({kSize}, ParameterInitUniform(-1, 1), "b");
};

const Report::Type* of_op(const Report& report, const std::string& op) {
  for (const Report::Type& type : report.types) {
    if (type.op == op) return &type;
  }
  return nullptr;
}

// ---------------------------------------------------------------------------------------- calls

TEST_F(Cells, AreOneNodePerCallAndBatch) {
  const auto step = step_cell();
  Minibatch batch;
  for (unsigned sample = 0; sample < 8; ++sample) {
    ComputationGraph& graph = batch.new_graph();
    Expression h = zeros(graph, {kSize});
    for (unsigned i = 0; i < 1 + sample % 4; ++i) h = step(word(graph, sample + i), h);
    batch.add_loss(squared_norm(h));
  }
  batch.forward();
  batch.backward();
  const Report report = batch.explain();
  const Report::Type* type = of_op(report, "step");
  ASSERT_NE(type, nullptr) << report;
  EXPECT_EQ(type->nodes, 2 * (1 + 2 + 3 + 4u));
  EXPECT_EQ(type->batches, 4u);
}

// A step reads a column and a matrix; elementwise operations are one step.
TEST_F(Cells, TellWhatTheyRun) {
  const auto gated = cell([](const Expression& x, const Expression& h) {
    const Expression a = tanh(x), b = sigmoid(h);
    return cmult(a, b) + h;
  });
  ComputationGraph graph;
  gated(word(graph, 0), word(graph, 1)).value();
  const Report report = graph.explain();
  const Report::Type* type = of_op(report, "cell");
  ASSERT_NE(type, nullptr) << report;
  EXPECT_EQ(type->program,
            "kind 0, 0 predecessors:\n"
            "before all levels: %0 = elementwise(column 0, column 1 (slot), column 1)\n"
            "state 0 = %0\n");
  std::ostringstream text;
  text << report;
  EXPECT_TRUE(mentions(text.str(), "program of cell, kind 0"));
}

TEST_F(Cells, CallTheirFunctionOncePerKindOfArguments) {
  unsigned calls = 0;
  const auto counted = cell([&](const std::vector<Expression>& xs, unsigned kind) {
    ++calls;
    return kind == 0 ? tanh(sum(xs)) : sigmoid(sum(xs));
  });
  for (unsigned pass = 0; pass < 3; ++pass) {
    Minibatch batch;
    for (unsigned i = 0; i < 6; ++i) {
      ComputationGraph& graph = batch.new_graph();
      std::vector<Expression> xs(1 + i % 3, word(graph, i));
      const Expression got = counted(xs, i % 2), total = sum(xs);
      EXPECT_EQ(numbers_of(got), numbers_of(i % 2 == 0 ? tanh(total) : sigmoid(total)));
    }
  }
  EXPECT_EQ(calls, 6u);
}

struct Gated {
  Expression gate, value, nothing;
};

// Structs of one's own, with empty members, ranges of them, numbers and a graph.
TEST_F(Cells, TakeArgumentsOfAllKinds) {
  enum class Mode { sum, difference };
  const auto plain = [this](ComputationGraph& graph, const std::vector<Gated>& all,
                            const CellState& state, Mode mode, float scale,
                            std::span<const Expression> more) -> CellState {
    std::vector<Expression> values{state.h, tanh(parameter(graph, b))};
    for (const Gated& g : all) {
      values.push_back(cmult(sigmoid(g.gate), g.nothing.empty() ? g.value : g.nothing));
    }
    for (const Expression& e : more) values.push_back(e * scale);
    const Expression h = mode == Mode::sum ? sum(values) : values[0] - values[1];
    return {h, cmult(h, state.c)};
  };
  const auto folded = cell(plain, "all kinds");
  ComputationGraph graph;
  const Expression x = word(graph, 1), y = word(graph, 2), none;
  const std::vector<Gated> all{{x, y, none}, {y, x, x}, {x, x, none}};
  const CellState state{y, x};
  for (const Mode mode : {Mode::sum, Mode::difference}) {
    for (const float scale : {0.5f, -2.0f}) {
      const std::array more{x, y};
      const CellState got = folded(graph, all, state, mode, scale, std::span(more));
      const CellState want = plain(graph, all, state, mode, scale, more);
      EXPECT_EQ(numbers_of(got.h), numbers_of(want.h));
      EXPECT_EQ(numbers_of(got.c), numbers_of(want.c));
    }
  }
  EXPECT_EQ(
      numbers_of(
          folded(graph, std::vector<Gated>{}, state, Mode::sum, 1.0f, std::vector<Expression>{}).c),
      numbers_of(plain(graph, {}, state, Mode::sum, 1.0f, {}).c));
}

// Where one range ends and the next begins, however long they are.
TEST_F(Cells, TellRangesApart) {
  using Range = std::vector<Expression>;
  const auto difference = cell([](const Range& a, const Range& b) { return sum(a) - sum(b); });
  ComputationGraph graph;
  const Expression x = word(graph, 1);
  for (const unsigned n : {2u, 70u, 71u}) {
    const Range a(n, x), b(150 - n, x);
    EXPECT_EQ(numbers_of(difference(a, b)), numbers_of(sum(a) - sum(b))) << n;
  }
}

// The same argument twice, stretches that overlap, parameters, and what follows from them.
TEST_F(Cells, AddUpGradientsOfArgumentsThatOverlap) {
  ParameterCollection doubles(1, DType::f64);
  const Parameter start = doubles.add_parameters({kSize}), long_one = doubles.add_parameters({9});
  const auto plain = [](const Expression& a, const Expression& c, const Expression& d) {
    return cmult(tanh(a), c) + pick_range(concatenate({d, a}), 2, 2 + kSize);
  };
  const auto program_of = [&](const auto& function) {
    return Program{doubles, [=](ComputationGraph& graph, unsigned) {
                     const Expression p = parameter(graph, start);
                     const Expression q = tanh(parameter(graph, long_one));
                     const Expression left = pick_range(q, 0, kSize);
                     Expression h = function(p, p, left);
                     h = function(h, h, h);
                     h = function(h, left, pick_range(q, 2, 2 + kSize));
                     h = function(pick_range(concatenate({h, h}), 1, 1 + kSize), h, tanh(p));
                     return Sample{squared_norm(h), {}, {h}};
                   }};
  };
  const Mode mode{options_of(doubles)};
  EXPECT_TRUE(near(run(program_of(cell(plain)), mode), run(program_of(plain), mode), 1e-12));
}

TEST_F(Cells, InsideCellsAndRecursionsArePartsOfThem) {
  const auto inner = step_cell();
  const auto outer =
      cell([&](const Expression& x, const Expression& h) { return inner(x, tanh(inner(x, h))); },
           "outer");
  const auto along = recursion<Expression>(
      [&](const Expression& x, const std::vector<Expression>& before) {
        return inner(x, before.empty() ? x : before[0]);
      },
      "along");
  ComputationGraph graph;
  const Expression x = word(graph, 1), y = word(graph, 2);
  const Expression want = step(x, tanh(step(x, y)));
  EXPECT_EQ(numbers_of(outer(x, y)), numbers_of(want));
  const Expression last = along(Structure::sequence(2), concatenate_cols({x, y})).last();
  EXPECT_EQ(numbers_of(last), numbers_of(step(y, step(x, x))));
  EXPECT_EQ(of_op(graph.explain(), "step"), nullptr);
}

// Samples that ask for values between calls, and decide by them.
TEST_F(Cells, ServeSamplesThatDecide) {
  const auto step = step_cell();
  const auto record = [&](ComputationGraph& graph, unsigned sample, const auto& function) {
    Expression h = word(graph, sample);
    std::vector<Expression> all;
    for (unsigned i = 0; i < 5; ++i) {
      const bool is_positive = as_scalar(sum_elems(h).value()) > 0;
      h = function(word(graph, sample + (is_positive ? i : 2 * i + 1)), h);
      all.push_back(h);
    }
    return Sample{squared_norm(h), all};
  };
  const Program cells{model,
                      [&](auto& graph, unsigned sample) { return record(graph, sample, step); }};
  const Program plain{model, [&](auto& graph, unsigned sample) {
                        return record(graph, sample, [this](const auto& x, const auto& h) {
                          return this->step(x, h);
                        });
                      }};
  Program deciding = cells;
  deciding.asks = true;
  expect_same_in_all_modes(deciding);
  EXPECT_TRUE(near(run(cells), run(plain), 0));
}

TEST_F(Cells, MayBeRevertedAndRecordedAgain) {
  const auto step = step_cell();
  ComputationGraph graph;
  const Expression x = word(graph, 1);
  Expression h = step(x, x);
  const std::vector<float> first = numbers_of(step(x, h));
  for (int round = 0; round < 3; ++round) {
    graph.checkpoint();
    const Expression g = step(x, h);
    EXPECT_EQ(numbers_of(g), first);
    graph.revert();
  }
  b.p->frozen = true;
  graph.clear();
  const Expression y = word(graph, 1);
  const Gradients& gradients = graph.backward(squared_norm(step(y, step(y, y))));
  EXPECT_EQ(gradients.values(b), std::vector<float>(kSize));
  EXPECT_NE(gradients.values(w), std::vector<float>(kSize * kSize));
}

// --------------------------------------------------------------------------------------- errors

TEST_F(Cells, LeaveNothingWhereTheirFunctionThrows) {
  bool fails = true;
  const auto faulty = cell([&](const Expression& x) {
    const Expression y = exp(tanh(x));
    if (fails) throw std::runtime_error("no");
    return y;
  });
  ComputationGraph graph;
  const Expression x = word(graph, 1);
  EXPECT_THROW(faulty(x), std::runtime_error);
  fails = false;
  EXPECT_EQ(numbers_of(faulty(x)), numbers_of(exp(tanh(x))));
}

TEST_F(Cells, SayWhatIsWrongWithTheirArguments) {
  const auto total = cell([](const std::vector<Expression>& xs) { return tanh(sum(xs)); });
  ComputationGraph graph, other;
  const Expression x = word(graph, 1);
  const std::vector<unsigned> rows{1, 2, 3};
  Expression stale;
  {
    ComputationGraph gone;
    stale = word(gone, 1);
  }
  for (const unsigned n : {0u, 2u}) {
    expect_refused<UsageError>(
        "[cell] need an argument that has a graph: a ComputationGraph, an Expression, or a range "
        "that is not empty; got none",
        [&] { total(std::vector<Expression>(n)); });
  }
  expect_refused<UsageError>("[cell] need arguments of one graph; got some of another", [&] {
    total(std::vector{x, word(other, 1)});
  });
  expect_refused<ShapeError>(
      "[cell] need arguments without minibatch dimension; got {6X3}: record one graph per sample",
      [&] { total(std::vector{lookup(graph, words, rows)}); });
  expect_refused<StateError>(
      "[cell] need an expression of a living graph; got one whose graph was cleared or destroyed",
      [&] { total(std::vector{stale}); });
}

// A parameter that was assigned after the cell was made is found by what both messages say.
TEST_F(Cells, SayWhatIsWrongWithTheirFunctions) {
  ComputationGraph graph, another;
  const Expression x = word(graph, 1), captured = word(another, 2);
  Parameter late;
  const auto step = cell([late](const Expression& y) { return late * y; }, "step");
  late = model.add_parameters({3, kSize}, "w");
  const auto squares = cell([late](const Expression& y) { return late * (late * y); }, "squares");
  const auto along = recursion<Expression>(
      [late](const Expression& y, const std::vector<Expression>& before) {
        return before.empty() ? late * y : before[0] + y;
      },
      "along");
  expect_refused<UsageError>(
      "[add] need inputs of one graph; got inputs of two: what a function of vertices reads must "
      "be "
      "one of its arguments (in the function \"outside\")",
      [&] { cell([&](const Expression& y) { return y + captured; }, "outside")(x); });
  expect_refused<UsageError>(
      "[other] need states made of the function's arguments; got an expression of another graph",
      [&] { cell([&](const Expression&) { return tanh(captured); }, "other")(x); });
  expect_refused<UsageError>(
      "[value] need a function that looks at no values; got one that does: it is called once for "
      "all arguments of the same shapes and numbers (in the function \"cell\")",
      [&] { cell([](const Expression& y) { return y.value().at(0) > 0 ? tanh(y) : y; })(x); });
  expect_refused<UsageError>(
      "[Parameter] need a handle from ParameterCollection; got an empty one: assign the parameter "
      "before it is used, or copied into a function or another object (in the function \"step\")",
      [&] { step(x); });
  expect_refused<ShapeError>(
      "[matrix_product] need as many columns on the left as rows on the right; got {3,6} {3}, "
      "where "
      "\"/w\" is {3,6} (in the function \"squares\")",
      [&] { squares(x); });
  expect_refused<ShapeError>(
      "[add] need equal shapes, up to dimensions of size 1; got {3} {6} (in the function "
      "\"along\")",
      [&] {
        along(Structure::sequence(2), concatenate_cols({x, x}));
      });
  const auto scaled = cell([](const Expression& y, float scale) { return tanh(y * scale); });
  expect_refused<UsageError>(
      "[cell] need at most 1024 different numbers and shapes of arguments; got more: give a number "
      "that differs from call to call as an expression, and a row of a table as what lookup "
      "returns",
      [&] {
        for (int i = 0; i < 2000; ++i) scaled(x, static_cast<float>(i));
      });
  // Each would be recorded anew, and run by itself.
  expect_refused<UsageError>(
      "[step] need at most 4096 recursions and cells, counted for each kind of arguments; got "
      "more: "
      "make each once, next to the parameters that it reads, and not once for every sample",
      [&] {
        for (int i = 0; i < 5000; ++i) step_cell()(x, x);
      });
}

// What a function depends on without being told is found by verify_batching.
TEST_F(Cells, AreVerified) {
  bool other = false;
  const auto moody =
      cell([&](const Expression& x) { return other ? tanh(x) : sigmoid(x); }, "moody");
  ComputationGraph graph({.verify_batching = true});
  const Expression x = moody(moody(word(graph, 1)));
  x.value();
  other = true;
  expect_refused<UsageError>(
      "[moody] need a function that does the same whenever it is called with arguments of the same "
      "shapes and numbers; got one that now does something else: what it depends on must be an "
      "argument",
      [&] { moody(x); });
  const auto step = step_cell();
  for (const bool frozen : {false, true}) {  // freezing is no other function
    b.p->frozen = frozen;
    EXPECT_EQ(numbers_of(step(x, x)), numbers_of(this->step(x, x)));
  }
}

}  // namespace
}  // namespace dynet_like::testing
