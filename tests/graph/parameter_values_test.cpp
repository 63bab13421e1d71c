// Parameters where operations take expressions: the graph comes from the other inputs.
#include <array>
#include <thread>

#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::testing {
namespace {

using Floats = std::vector<float>;

Floats values(const Expression& x) { return as_vector(x.value()); }

struct ParameterValues : ::testing::Test {
  ParameterCollection model;
  const Parameter w = model.add_parameters({3, 3}, "w"), b = model.add_parameters({3}, "b");
  const LookupParameter table = model.add_lookup_parameters(5, {3}, "table");
  ComputationGraph graph;
  const Expression x = input(graph, {3}, {0.5f, -1, 2});
};

TEST_F(ParameterValues, AreThoseThatAGraphRecords) {
  const Expression in_graph = tanh(parameter(graph, w) * x + parameter(graph, b));
  const std::size_t nodes = graph.size();
  const Expression plain = tanh(w * x + b);
  EXPECT_EQ(values(plain), values(in_graph));
  EXPECT_EQ(graph.size() - nodes, 3u) << "a parameter is one node of its graph";
  EXPECT_EQ(values(affine_transform({b, w, x})),
            values(affine_transform({parameter(graph, b), parameter(graph, w), x})));
  EXPECT_EQ(values(x + table[2]), values(x + lookup(graph, table, 2u)));
  EXPECT_EQ(values(transpose(x) * table), values(transpose(x) * parameter(graph, table)));
  const Gradients& gradients = graph.backward(dot_product(tanh(w * x + b), table[4]));
  EXPECT_EQ(gradients.values(b).size(), 3u);
  EXPECT_NE(gradients.values(w), Floats(9, 0.0f));
}

TEST_F(ParameterValues, StandForAnyInputOfAnOperation) {
  const auto same = [&](const Expression& a, const Expression& b) {
    EXPECT_EQ(values(a), values(b));
  };
  const Expression W = parameter(graph, w), B = parameter(graph, b);
  same(cmult(b, x), cmult(B, x));
  same(concatenate({b, x, b}), concatenate({B, x, B}));
  same(sum({b, b, x}), sum({B, B, x}));
  same(max({b, b, x}), max({B, B, x}));
  same(logsumexp({b, x}), logsumexp({B, x}));
  same(concatenate_to_batch({b, x}), concatenate_to_batch({B, x}));
  same(less(b, x), less(B, x));
  same(cosine_similarity(b, x), cosine_similarity(B, x));
  same(huber_distance(b, x), huber_distance(B, x));
  same(layer_norm(x, b, b), layer_norm(x, B, B));
  same(attention(x, w, w), attention(x, W, W));
  same(attention(b, w * input(graph, {3, 2}, Floats(6, 0.5f)),
                 w * input(graph, {3, 2}, Floats(6, 1))),
       attention(B, W * input(graph, {3, 2}, Floats(6, 0.5f)),
                 W * input(graph, {3, 2}, Floats(6, 1))));
  same(attention_weights(b, W), attention_weights(B, W));
  same(circ_conv(b, x), circ_conv(B, x));
  same(circ_conv(x, b), circ_conv(x, B));
  const Expression columns = input(graph, {3, 4}, Floats(12, 0.25f));
  same(chain_log_partition(columns, w, b, b), chain_log_partition(columns, W, B, B));
  const Parameter f = model.add_parameters({3, 2, 2}, "f"),
                  image = model.add_parameters({2, 2, 1, 2});
  same(filter1d_narrow(columns, f), filter1d_narrow(columns, parameter(graph, f)));
  same(contract3d_1d(model.add_parameters({2, 2, 3}, ParameterInitConst(0.5f)), x),
       input(graph, {2, 2}, Floats(4, 0.75f)));
  const Expression picture = reshape(columns, {3, 4, 1});
  const Parameter bias = model.add_parameters({2});
  same(conv2d(picture, image, bias, {1, 1}),
       conv2d(picture, parameter(graph, image), parameter(graph, bias), {1, 1}));
  same(copy_log_softmax(x, zeros(graph, {1}), zeros(graph, {2}) + 0.5f, {0, 1}),
       copy_log_softmax(x, zeros(graph, {1}), zeros(graph, {2}) + 0.5f, {0, 1}));
  same(vanilla_lstm_c(b, concatenate({x, x, x, x})), vanilla_lstm_c(B, concatenate({x, x, x, x})));
}

TEST_F(ParameterValues, AreArgumentsOfCellsAndFirstStates) {
  const auto layer =
      cell([](const Expression& weights, const Expression& in) { return tanh(weights * in); });
  EXPECT_EQ(values(layer(w, x)), values(tanh(w * x)));
  EXPECT_EQ(values(layer(w, table[1] + x)), values(tanh(w * (table[1] + x))));
  const auto rnn =
      recursion<Expression>([this](const Expression& in, const std::vector<Expression>& before) {
        return tanh(in + w * before[0] + b);
      });
  const Expression columns = input(graph, {3, 2}, Floats(6, 0.25f));
  const auto from = [&](const Expression& start) {
    return values(rnn(Structure::sequence(2), columns, start).last());
  };
  EXPECT_EQ(from(b), from(parameter(graph, b)));
}

TEST_F(ParameterValues, FrozenOnesGetNoGradient) {
  w.get_storage().frozen = true;
  EXPECT_EQ(graph.backward(sum_elems(w * x + b)).find_dense(*w.p), nullptr);
}

TEST_F(ParameterValues, HaveAShapeAndANameButNoGraph) {
  const Expression alone = w;
  EXPECT_EQ(alone.dim(), Dim({3, 3}));
  EXPECT_EQ(table[1].dim(), Dim({3}));
  EXPECT_EQ(Expression(table).dim(), Dim({3, 5}));
  EXPECT_FALSE(alone.empty() || alone.is_stale());
  std::ostringstream text;
  text << alone;
  EXPECT_EQ(text.str(), "parameter {3,3} \"/w\"");
  const std::string advice =
      "[tanh] need an expression of a graph; got nothing but the parameter \"/w\": "
      "use parameter(graph, w)";
  expect_refused<UsageError>(advice, [&] { tanh(w); });
  expect_refused<UsageError>("...nothing but...", [&] { w* table[0]; });
  const std::string of_row = message_of<UsageError>([&] { tanh(table[0]); });
  EXPECT_EQ(of_row,
            "[tanh] need an expression of a graph; got nothing but the row of a table \"/table\": "
            "use lookup(graph, table, row), or embedding(graph, row) of a layer");
  expect_refused<UsageError>(
      "[concatenate] need an expression of a graph; got nothing but the row of a table "
      "\"/table\": use lookup(graph, table, row), or embedding(graph, row) of a layer",
      [&] {
        concatenate({table[0], table[1]});
      });
  expect_refused<UsageError>(
      "[concatenate] need an expression of a graph; got nothing but the table \"/table\": use "
      "lookup(graph, table, row), or parameter(graph, table) for all rows",
      [&] {
        concatenate({table, table}, 1);
      });
  EXPECT_THROW(alone.value(), UsageError);
  EXPECT_THROW(alone.gradient(), UsageError);
  EXPECT_THROW(alone.graph(), UsageError);
  EXPECT_THROW(tanh(Parameter{}), UsageError);
  expect_refused<UsageError>("[/table] need a row below 5; got 5", [&] { table[5]; });
  EXPECT_THROW(w * (x + input(graph, {4}, Floats(4))), ShapeError);
  EXPECT_THROW(w * zeros(graph, {4}), ShapeError);
}

TEST_F(ParameterValues, OfAModelThatIsGoneAreRefused) {
  auto other = std::make_unique<ParameterCollection>();
  Expression kept = other->add_parameters({3});
  EXPECT_EQ(kept.dim(), Dim({3}));
  other.reset();
  EXPECT_TRUE(kept.is_stale());
  EXPECT_THROW(kept + x, StateError);
  EXPECT_THROW(kept.dim(), StateError);
  // Its place in the registry goes to graphs and parameters that come after it.
  std::vector<std::unique_ptr<ComputationGraph>> graphs;
  for (int i = 0; i < 100; ++i) graphs.push_back(std::make_unique<ComputationGraph>());
  ParameterCollection later;
  for (int i = 0; i < 100; ++i) later.add_parameters({3});
  EXPECT_TRUE(kept.is_stale());
  EXPECT_THROW(kept + x, StateError);
}

// Graphs and models come and go on all threads at once.
TEST(HandleSlots, AreSharedWithoutALock) {
  constexpr unsigned kThreads = 4, kRounds = 400;
  std::array<unsigned, kThreads> right{};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned round = 0; round < kRounds; ++round) {
        ParameterCollection model;
        const Parameter w = model.add_parameters({1}, ParameterInitConst(static_cast<float>(t)));
        ComputationGraph graph, second;
        const Expression kept = input(second, 1.0f);
        const bool is_right =
            as_scalar((w + input(graph, 1.0f)).value()) == static_cast<float>(t + 1);
        second.clear();
        right[t] += is_right && kept.is_stale();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, (std::array{kRounds, kRounds, kRounds, kRounds}));
}

}  // namespace
}  // namespace dynet_like::testing
