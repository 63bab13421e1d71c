// Functions of cells and recursions use their arguments alone: not the graph, or the minibatch, for
// which they are called, which stays usable.
#include "tests/support/message_of.h"
#include "tests/support/modes.h"
#include "tests/support/precompiled.h"

namespace dynet_like::testing {
namespace {

using Before = std::vector<Expression>;

/// A graph by itself or of a minibatch, with an expression, and what a function does with it.
struct Outside {
  ComputationGraph& graph;
  Minibatch* batch;
  Expression x;
};
struct OutsideUse {
  const char* name;
  void (*use)(const Outside& outside);
  bool of_batch = false;
};

const OutsideUse kOutsideUses[] = {
    {"clear",
     [](auto& outside) {
       outside.batch == nullptr ? outside.graph.clear() : outside.batch->clear();
     }},
    {"revert", [](auto& outside) { outside.graph.revert(); }},
    {"checkpoint", [](auto& outside) { outside.graph.checkpoint(); }},
    {"invalidate", [](auto& outside) { outside.graph.invalidate(); }},
    {"backward", [](auto& outside) { outside.graph.backward(sum_elems(outside.x)); }},
    {"explain", [](auto& outside) { outside.graph.explain(); }},
    {"record", [](auto& outside) { tanh(outside.x); }},
    {"input", [](auto& outside) { input(outside.graph, 1); }},
    {"value", [](auto& outside) { outside.x.value(); }},
    {"cell", [](auto& outside) { cell([](const Expression& x) { return -x; })(outside.x); }},
    {"new_graph", [](auto& outside) { outside.batch->new_graph(); }, true},
    {"forward", [](auto& outside) { outside.batch->forward(); }, true},
    {"backward_batch", [](auto& outside) { outside.batch->backward(); }, true},
    {"add_loss", [](auto& outside) { outside.batch->add_loss(outside.x); }, true},
};

// The graph stays usable, and so does the function.
TEST(OutsideUses, AreRefused) {
  for (const OutsideUse& of : kOutsideUses) {
    for (const bool in_batch : {false, true}) {
      if (of.of_batch && !in_batch) continue;
      SCOPED_TRACE(of.name);
      ComputationGraph own;
      Minibatch batch;
      ComputationGraph& graph = in_batch ? batch.new_graph() : own;
      graph.checkpoint();
      const Outside outside{graph, in_batch ? &batch : nullptr, input(graph, {2}, {3, 5})};
      bool misuses = true;
      const auto function = [&](const Expression& y) {
        if (misuses) of.use(outside);
        return y * 2.0f;
      };
      const auto step = cell(function);
      const auto along =
          recursion<Expression>([&](const Expression& y, const Before&) { return function(y); });
      const auto refused = [&](const auto& call) {
        const std::string message = message_of<UsageError>(call);
        EXPECT_TRUE(mentions(message, "in the function"));
        if (std::string(of.name) == "cell") return;  // no function calls cells on other graphs
        EXPECT_TRUE(mentions(message,
                             "need a function of a cell or a recursion that uses its arguments "
                             "alone; got one that uses the graph, or the minibatch"));
      };
      refused([&] { step(outside.x); });
      refused([&] { along(Structure::sequence(1), outside.x); });
      misuses = false;
      EXPECT_EQ(numbers_of(step(outside.x)), (std::vector<float>{6, 10}));
      EXPECT_EQ(numbers_of(along(Structure::sequence(1), outside.x).last()),
                (std::vector<float>{6, 10}));
      graph.revert();
      EXPECT_EQ(graph.size(), 0u);
    }
  }
}

// The graph on which they are recorded keeps what it learnt for other arguments.
TEST(OutsideUses, OfTheOwnGraphAreRefused) {
  ComputationGraph graph;
  const Expression x = input(graph, {2}, {3, 5});
  for (const auto& use : {+[](ComputationGraph& own) { own.clear(); },
                          +[](ComputationGraph& own) { own.checkpoint(); }}) {
    bool misuses = true;
    const auto step = cell([&](ComputationGraph& own, const Expression& y) {
      if (misuses) use(own);
      return y * 2.0f;
    });
    const std::string message = message_of<UsageError>([&] { step(graph, x); });
    EXPECT_TRUE(mentions(message, "need the graph of a sample; got that of a function"));
    misuses = false;
    EXPECT_EQ(numbers_of(step(graph, x)), (std::vector<float>{6, 10}));
  }
}

}  // namespace
}  // namespace dynet_like::testing
