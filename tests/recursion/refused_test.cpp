// What recursions and cells refuse, and that they are as good as new after functions that threw.
#include <regex>
#include <set>
#include <stdexcept>

#include "dynet_like/tape/tape.h"
#include "tests/support/message_of.h"
#include "tests/support/modes.h"
#include "tests/support/precompiled.h"
#include "tests/support/source_text.h"

namespace dynet_like::testing {
namespace {

constexpr unsigned kOutputs = 6;
const double kSums = default_device()->is_cpu() ? 0 : 1e-5;  // a GPU may begin at another addend
using Before = std::vector<Expression>;
using Function = std::function<Expression(const Expression&)>;

// ------------------------------------------------------------------------- integers by pointer

/// Every public function that takes integers by pointer, of a value {2, 3}.
std::vector<std::pair<std::string, std::function<Expression(const Expression&, IntegersAt)>>>
calls_with_pointers(const LookupParameter& table) {
  const auto column = [](const Expression& x) { return reshape(x, Dim({kOutputs})); };
  return {
      {"lookup", [=](auto& x, auto at) { return lookup(*x.pg, table, at); }},
      {"const_lookup", [=](auto& x, auto at) { return const_lookup(*x.pg, table, at); }},
      {"cross_entropy", [=](auto& x, auto at) { return cross_entropy(column(x), at); }},
      {"cross_entropy", [=](auto& x, auto at) { return cross_entropy(column(x), at); }},
      {"hinge", [=](auto& x, auto at) { return hinge(column(x), at); }},
      {"hinge_dim", [=](auto& x, auto at) { return hinge_dim(column(x), at); }},
      {"poisson_loss", [=](auto& x, auto at) { return poisson_loss(sum_elems(x), at); }},
      {"pick", [=](auto& x, auto at) { return pick(x, at); }},
      {"select_rows", [=](auto& x, auto at) { return select_rows(x, at); }},
      {"select_cols", [=](auto& x, auto at) { return select_cols(x, at); }},
      {"pick_batch_elem", [=](auto& x, auto at) { return pick_batch_elem(x, at); }},
      {"pick_batch_elems", [=](auto& x, auto at) { return pick_batch_elems(x, at); }},
      {"gather", [=](auto& x, auto at) { return gather(x, at, 1); }},
      {"sparsemax_loss", [=](auto& x, auto at) { return sparsemax_loss(column(x), at); }},
  };
}

TEST(RefusedFunctions, TakeNoIntegersByPointer) {
  static const unsigned one = 0;
  static const std::vector<unsigned> list{0};
  static const std::vector<std::vector<unsigned>> lists{{0}};
  ParameterCollection model;
  const LookupParameter table = model.add_lookup_parameters(3, {kOutputs});
  const Parameter matrix = model.add_parameters({2, 3});
  ComputationGraph graph;
  const Expression x = reshape(lookup(graph, table, 1), Dim({2, 3}));
  const auto refused = [&](const Function& f) {
    const auto along =
        recursion<Expression>([&](const Expression& y, const Before&) { return f(y); });
    const Expression columns = reshape(x, Dim({2, 3, 1}));
    const std::string of_cell = message_of<UsageError>([&] { cell(f)(x); });
    const std::string of_recursion =
        message_of<UsageError>([&] { along(Structure::sequence(1), columns); });
    for (const std::string& message : {of_cell, of_recursion}) {
      EXPECT_TRUE(
          message.find("need the integers themselves in a function that is recorded once") !=
              std::string::npos ||
          message.find("got a lookup inside: look up all rows before") != std::string::npos)
          << message;
    }
  };
  for (const auto& [name, function] : calls_with_pointers(table)) {
    const auto& call = function;
    for (const IntegersAt& at : {IntegersAt(&one), IntegersAt(&list), IntegersAt(&lists)}) {
      SCOPED_TRACE(name);
      call(x, at).value();  // outside they are read
      refused([&](const Expression& y) { return y * sum_elems(call(y, at)); });
      // Of what no argument is a part of, too.
      refused(
          [&](const Expression& y) { return y * sum_elems(call(parameter(*y.pg, matrix), at)); });
    }
  }
  expect_refused<UsageError>(
      "[select] need the integers themselves in a function that is recorded once for all its "
      "calls; got a pointer to integers that are read when the graph runs: make them an argument "
      "of the cell or the kind of the vertex, or call this outside (in the function \"cell\")",
      [&] { cell([&](const Expression& y) { return pick(y, &one); })(x); });
}

// As an argument of the cell they are what they should be.
TEST(RefusedFunctions, TakeIntegersAsArguments) {
  ComputationGraph graph;
  const Expression x = input(graph, {2}, {3, 5});
  const auto scaled = cell([](const Expression& y, unsigned i) { return y * pick(y * 1.0f, i); });
  EXPECT_EQ(numbers_of(scaled(x, 0u)), (std::vector<float>{9, 15}));
  EXPECT_EQ(numbers_of(scaled(x, 1u)), (std::vector<float>{15, 25}));
}

TEST(RefusedFunctions, AreTestedWithAllCallsThatTakePointers) {
  const std::filesystem::path root = std::getenv("DYNET_LIKE_SOURCE_DIR");
  const std::string header = source_text(root / "dynet_like/ops/ops.h");
  const std::regex declaration("Expression (\\w+)\\([^;{]*IntegersAt");
  std::set<std::string> declared, tested;
  for (std::sregex_iterator i(header.begin(), header.end(), declaration), end; i != end; ++i) {
    declared.insert((*i)[1]);
  }
  ParameterCollection model;
  for (const auto& call : calls_with_pointers(model.add_lookup_parameters(2, {1}))) {
    tested.insert(call.first);
  }
  EXPECT_GT(declared.size(), 10u);
  EXPECT_EQ(declared, tested);
}

// ---------------------------------------------------------------------- functions inside functions

TEST(RefusedFunctions, CallNoRecursionOnAGraphOfTheirOwn) {
  ComputationGraph graph;
  const Expression x = input(graph, {2}, {3, 5});
  const auto sequence = Structure::sequence(1);
  const std::string inside =
      "need a function that applies no recursion; got one that does: apply it to all columns first";
  Recursion<Expression> along, other;
  along = recursion<Expression>(
      [&](const Expression& y, const Before&) {
        ComputationGraph own;
        other(sequence, input(own, {2}, {1, 2})).last().value();
        return tanh(y);
      },
      "along");
  other = along;  // itself
  expect_refused<UsageError>("[along] " + inside, [&] { along(sequence, x); });
  // One by another.
  other = recursion<Expression>(
      [&](const Expression& y, const Before&) {
        ComputationGraph own;
        return y * along(sequence, input(own, {2}, {1, 2})).last();
      },
      "other");
  expect_refused<UsageError>("[other] " + inside + " (in the function \"along\")",
                             [&] { along(sequence, x); });
  // What was refused is as good as new.
  other = recursion<Expression>([](const Expression& y, const Before&) { return y; });
  expect_refused<UsageError>("[recursion] " + inside + " (in the function \"along\")",
                             [&] { along(sequence, x); });
  const auto plain = recursion<Expression>([](const Expression& y, const Before&) { return -y; });
  EXPECT_EQ(numbers_of(plain(sequence, x).last()), (std::vector<float>{-3, -5}));
}

TEST(RefusedFunctions, CallNoCellOnAGraphOfTheirOwn) {
  using Cell = CellFunction<Expression(const Expression&)>;
  ComputationGraph graph;
  const Expression x = input(graph, {2}, {3, 5});
  std::optional<Cell> cell;
  cell.emplace([&](const Expression& y) {
    ComputationGraph own;
    (*cell)(input(own, {2}, {1, 2})).value();
    return tanh(y);
  });
  expect_refused<UsageError>(
      "[cell] need a function that calls cells with what it is given; got cell, which calls "
      "one on another graph",
      [&] { (*cell)(x); });
  // With what it is given a cell may call another, as often as it likes.
  const auto negative = dynet_like::cell([](const Expression& y) { return -y; });
  cell.emplace([&](const Expression& y) { return negative(negative(y)) * 2; });
  EXPECT_EQ(numbers_of((*cell)(x)), (std::vector<float>{6, 10}));
}

// A sample that waited would hold what the others need.
TEST(RefusedFunctions, WaitForNoValueOfTheirSample) {
  Minibatch batch;
  Expression captured;
  const auto shared = cell(
      [&](const Expression& y) { return captured.value().at(0) > 0 ? tanh(y) : -y; }, "shared");
  expect_refused<UsageError>(
      "[value] need a function that looks at no values; got one of a recursion or cell that "
      "asks for one of its sample (in the function \"shared\"), in sample 0",
      [&] {
        for_each_sample(batch, 3, [&](ComputationGraph& graph, std::size_t) {
          captured = input(graph, {2}, {3, 5});
          ComputationGraph other;
          shared(input(other, {2}, {3, 5})).value();
        });
      });
}

// ------------------------------------------------------------------------ functions that threw

TEST(RefusedFunctions, ThatThrewAreNotCounted) {
  bool fails = true;
  const auto faulty = cell([&](const Expression& x, unsigned) {
    if (fails) throw std::runtime_error("no");
    return tanh(x);
  });
  const auto along = recursion<Expression>([&](const Expression& x, const Before&) {
    if (fails) throw std::runtime_error("no");
    return tanh(x);
  });
  ComputationGraph graph;
  const Expression x = input(graph, {2}, {3, 5});
  for (unsigned i = 0; i < 1100; ++i) {
    EXPECT_THROW(faulty(x, i), std::runtime_error);
    const Expression wide = input(graph, {i + 1}, std::vector<float>(i + 1));
    EXPECT_THROW(along(Structure::sequence(1), wide), std::runtime_error);
  }
  fails = false;
  EXPECT_EQ(numbers_of(faulty(x, 5000)), numbers_of(tanh(x)));
  EXPECT_EQ(numbers_of(along(Structure::sequence(1), x).last()), numbers_of(tanh(x)));
  // All that there may be are still to be had.
  for (unsigned i = 0; i < 1023; ++i) faulty(x, i);
  EXPECT_EQ(message_of<UsageError>([&] { faulty(x, 1023); }).substr(0, 24),
            "[cell] need at most 1024");
  EXPECT_EQ(numbers_of(faulty(x, 17)), numbers_of(tanh(x)));  // those that are known stay
}

/// A recursion whose vertices with two predecessors may fail after they have read parameters: the
/// function throws, or what it records is refused.
class Faulty : public ::testing::TestWithParam<bool> {
 protected:
  Expression vertex(const Expression& x, const Before& before) {
    ComputationGraph& graph = *x.pg;
    if (before.size() < 2) return tanh(parameter(graph, a) + x);
    if (before.size() > 2) return tanh(cmult(parameter(graph, c), before[0]) + before[2]);
    const Expression fresh = tanh(cmult(parameter(graph, b), before[0]) + parameter(graph, c));
    if (fails && !GetParam()) throw std::runtime_error("no");
    const Expression product = parameter(graph, d) * before[1];
    if (fails) return cmult(product, input(graph, {kOutputs}, std::vector<float>(kOutputs)));
    return cmult(fresh, product);
  }
  Structure structure(bool with_two) const {
    if (with_three) return Structure(std::vector<Structure::Vertex>{{{}, 0}, {{0, 0, 0}, 1}});
    if (!with_two) return Structure::sequence(2);
    return Structure(std::vector<Structure::Vertex>{{{}, 0}, {{}, 1}, {{0, 1}, 1}});
  }
  Numbers run(const Recursion<Expression>& along, bool with_two, bool verify = false) {
    ComputationGraph graph({.verify_batching = verify});
    const Expression columns = reshape(tanh(parameter(graph, words)), Dim({kOutputs, 2}));
    const Expression states = along(structure(with_two), columns).all();
    edges = graph.record().tape().edges().size();
    Numbers numbers = as_doubles(states.value());
    const Numbers more = testing::numbers_of(model, graph.backward(sum_elems(tanh(states))));
    numbers.insert(numbers.end(), more.begin(), more.end());
    return numbers;
  }
  Recursion<Expression> recursion() {
    return dynet_like::recursion<Expression>(
        [this](const Expression& x, const Before& before) { return vertex(x, before); }, "faulty");
  }

  ParameterCollection model{7};
  Parameter a = model.add_parameters({kOutputs}), b = model.add_parameters({kOutputs}),
            c = model.add_parameters({kOutputs}), d = model.add_parameters({kOutputs, kOutputs}),
            words = model.add_parameters({2 * kOutputs});
  bool fails = true, with_three = false;
  std::size_t edges = 0;  ///< inputs of all nodes of the last run
};

// Before any kind was learnt, and after one was.
TEST_P(Faulty, RecursionsAreAsNewAfterwards) {
  const auto fresh = recursion();
  fails = false;
  const Numbers one = run(fresh, false), two = run(fresh, true);
  for (const bool knows_one : {false, true}) {
    for (const bool with_two : {false, true}) {  // then other kinds, or those that failed
      const auto along = recursion();
      if (knows_one) {
        EXPECT_TRUE(near(run(along, false), one, kSums));
      }
      for (int i = 0; i < 3; ++i) {
        fails = true;
        EXPECT_THROW(run(along, true), std::exception);
      }
      fails = false;
      EXPECT_TRUE(near(run(along, with_two), with_two ? two : one, kSums));
      EXPECT_TRUE(near(run(along, !with_two), with_two ? one : two, kSums));
      EXPECT_TRUE(near(run(along, true, true), two, kSums));
    }
  }
}

// Other kinds do not read what those that failed have read.
TEST_P(Faulty, RecursionsKeepNoArguments) {
  std::size_t expected = 0;
  for (const bool tries_two : {false, true}) {
    const auto along = recursion();
    with_three = false;
    run(along, false);
    if (tries_two) {
      EXPECT_THROW(run(along, true), std::exception);
    }
    with_three = true;
    run(along, false);
    if (tries_two) {
      EXPECT_EQ(edges, expected);
    }
    expected = edges;
  }
}

// What verify_batching calls again may fail alone.
TEST_P(Faulty, RecursionsAreAsNewAfterTheirVerification) {
  const auto along = recursion();
  fails = false;
  const Numbers two = run(along, true), one = run(along, false);
  for (int i = 0; i < 3; ++i) {
    fails = true;
    EXPECT_THROW(run(along, true, true), std::exception);
  }
  fails = false;
  EXPECT_TRUE(near(run(along, true, true), two, kSums));
  EXPECT_TRUE(near(run(along, false, true), one, kSums));
}

INSTANTIATE_TEST_SUITE_P(Functions, Faulty, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "AreRefused" : "Throw"; });

// The sizes of states are those of the first function that succeeds.
TEST(RefusedFunctions, LeaveNoSizesOfStates) {
  unsigned wanted = 4;
  bool fails = true;
  const auto along = recursion<Expression>([&](const Expression& x, const Before& before) {
    if (!before.empty() && fails) throw std::runtime_error("no");
    return tanh(pick_range(x, 0, wanted));
  });
  ComputationGraph graph;
  const Expression columns = input(graph, {kOutputs, 2}, std::vector<float>(2 * kOutputs, 1));
  EXPECT_THROW(along(Structure::sequence(2), columns), std::runtime_error);
  wanted = 3;
  fails = false;
  EXPECT_EQ(along(Structure::sequence(2), columns).all().dim(), Dim({3, 2}));
}

// Kinds of vertices are recorded on one graph, where an expression of an earlier kind is not stale.
TEST(RefusedFunctions, KeepNoExpressionsFromCallToCall) {
  ComputationGraph graph({.seed = 3});
  const Expression columns = input(graph, {4, 2}, std::vector<float>(8, 1));
  const std::string message =
      "[recursion] need a function that keeps no expression from call to call; got one of an "
      "earlier call";
  for (const bool is_result : {false, true}) {
    for (const bool knows_one : {false, true}) {
      bool keeps = true;
      Expression mask;
      const auto along = recursion<Expression>([&](const Expression& x, const Before& before) {
        if (!keeps || mask.pg != x.pg) mask = dropout(ones(*x.pg, {4}), 0.5f);
        if (before.empty()) return cmult(mask, x);
        return is_result ? mask : cmult(mask, before[0]);
      });
      if (knows_one) along(Structure::sequence(1), columns);
      expect_refused<UsageError>(message, [&] { along(Structure::sequence(2), columns); });
      keeps = false;
      EXPECT_EQ(numbers_of(along(Structure::sequence(2), columns).all()).size(), 8u);
    }
  }
}

// ---------------------------------------------------------------------------- parts that overlap

// From the third element on they share none, or only one that gets no gradient.
TEST(RefusedFunctions, ReadNoPartsThatOverlap) {
  struct Case {
    unsigned begin, end;
    bool is_held_back, is_refused;
  };
  for (const Case& each : {Case{2, 5, false, true},
                           {2, 5, true, false},
                           {3, 6, false, false},
                           {0, 2, false, true},
                           {0, 3, false, false},
                           {0, 6, false, true},
                           {1, 2, false, true}}) {
    SCOPED_TRACE(each.begin);
    const auto reads = [=](const Expression& y) {
      const Expression part = pick_range(y, each.begin, each.end);
      return sum_elems(tanh(pick_range(y, 0, 3))) +
             sum_elems(exp(each.is_held_back ? nobackprop(part) : part));
    };
    ComputationGraph graph;
    const Expression x = input(graph, {kOutputs}, {1, 2, 3, 4, 5, 6});
    const auto along =
        recursion<Expression>([=](const Expression& y, const Before&) { return reads(y); });
    if (each.is_refused) {
      const std::string message = message_of<UsageError>([&] { cell(reads)(x); });
      EXPECT_TRUE(mentions(message, "need parts of an argument that do not overlap; got elements"));
      EXPECT_THROW(along(Structure::sequence(1), x), UsageError);
    } else {
      EXPECT_FLOAT_EQ(cell(reads)(x).value().at(0), reads(x).value().at(0));
      EXPECT_FLOAT_EQ(along(Structure::sequence(1), x).last().value().at(0),
                      reads(x).value().at(0));
    }
  }
}

// ------------------------------------------------------------------------------ no function at all

TEST(RefusedFunctions, MayNotBeMissing) {
  ComputationGraph graph;
  const Expression x = input(graph, {2}, {3, 5});
  const auto sequence = Structure::sequence(1);
  const std::string without = "need a function; got an object that was made without, or moved from";
  const std::string empty = "need a function; got an empty one";
  const auto along_message = [&](const Recursion<Expression>& along) {
    const std::string message = message_of<UsageError>([&] { along(sequence, x); });
    expect_refused<UsageError>(message, [&] { along(sequence, graph); });
    expect_refused<UsageError>(message, [&] { along(sequence, x, x); });
    return message;
  };
  Recursion<Expression> along;
  EXPECT_EQ(along_message(along), "[recursion] " + without);
  along = recursion<Expression>([](const Expression& y, const Before&) { return y; });
  const Recursion<Expression> moved = std::move(along);
  EXPECT_EQ(along_message(along), "[recursion] " + without);
  EXPECT_EQ(numbers_of(moved(sequence, x).last()), numbers_of(x));
  std::function<Expression(const Expression&, const Before&)> of_nothing;
  EXPECT_EQ(along_message(recursion<Expression>(of_nothing, "words")), "[words] " + empty);
  Expression (*pointer)(unsigned, const Expression&, const Before&) = nullptr;
  EXPECT_EQ(along_message(recursion<Expression>(pointer, "words")), "[words] " + empty);

  using Cell = CellFunction<Expression(const Expression&)>;
  Cell cell(Cell::Function(), "step");
  expect_refused<UsageError>("[step] " + empty, [&] { cell(x); });
  expect_refused<UsageError>("[cell] " + empty, [&] { dynet_like::cell(Cell::Function())(x); });
  cell = Cell([](const Expression& y) { return -y; });
  const Cell other = std::move(cell);
  expect_refused<UsageError>("[cell] " + without, [&] { cell(x); });
  EXPECT_EQ(numbers_of(other(x)), numbers_of(-x));
}

}  // namespace
}  // namespace dynet_like::testing
