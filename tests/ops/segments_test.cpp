// Columns that are gathered, scattered and summed up by segments: against plain loops, and graphs
// of any numbers of nodes and edges in one batch.
#include "dynet_like/ops/structured.h"
#include "tests/ops/composed_function.h"
#include "tests/support/layers.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using Places = std::vector<unsigned>;

// Of x {inner, n, outer}, the lines whose place is k, put together from `start`, as line k.
template <class F>
Doubles scattered(const Doubles& x, std::size_t inner, const Places& places, std::size_t count,
                  double start, const F& f) {
  const std::size_t n = places.size(), outer = x.size() / (inner * n);
  Doubles y(inner * count * outer, start);
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < inner; ++i) {
        double& to = y[(o * count + places[j]) * inner + i];
        to = f(to, x[(o * n + j) * inner + i]);
      }
    }
  }
  return y;
}

Doubles gathered(const Doubles& x, std::size_t rows, const Places& places) {
  Doubles y;
  for (const unsigned place : places) {
    y.insert(y.end(), x.begin() + place * rows, x.begin() + (place + 1) * rows);
  }
  return y;
}

Function scatter_of(const char* name, const Dim& dim, unsigned d, const Places& places,
                    unsigned count, bool is_max) {
  std::size_t inner = 1;
  for (unsigned i = 0; i < d; ++i) inner *= dim.d[i];
  return {name,
          {dim},
          [=](Xs x) {
            return is_max ? scatter_max(x[0], places, count, d)
                          : scatter_add(x[0], places, count, d);
          },
          [=](Inputs x) {
            const auto add = [](double a, double b) { return a + b; };
            const auto larger = [](double a, double b) { return std::max(a, b); };
            const double lowest = -std::numeric_limits<double>::infinity();
            return is_max ? scattered(x[0], inner, places, count, lowest, larger)
                          : scattered(x[0], inner, places, count, 0, add);
          }};
}

Function gather_of(const char* name, const Dim& dim, const Places& places) {
  const std::size_t rows = dim.size() / dim.d[dim.nd - 1];
  return {name,
          {dim},
          [=](Xs x) { return gather(x[0], places, dim.nd - 1); },
          [=](Inputs x) { return gathered(x[0], rows, places); }};
}

// Items of softmaxes along columns 1 to 3 and 0 to 1, in any order, one of them twice.
Function softmax_in_any_order(unsigned rows) {
  static constexpr unsigned kItems[][4] = {{4, 1, 4, 3}, {4, 1, 4, 1}, {4, 1, 4, 3}, {4, 0, 2, 1},
                                           {4, 0, 2, 0}, {4, 1, 4, 2}, {4, 3, 4, 3}};
  return {"softmax_in_any_order",
          {{rows, 4}},
          [](Xs x) {
            std::vector<std::uint32_t> integers;
            for (const auto& item : kItems) integers.insert(integers.end(), item, item + 4);
            std::vector<Expression> results;
            for (unsigned e = 0; e < x[0].dim().bd; ++e) {
              const Expression own = pick_batch_elem(x[0], e);
              const Expression y = apply_op(ops::segment_softmax, {own}, {}, integers);
              results.push_back(reshape(y, {own.dim().rows(), 7}));
            }
            return concatenate_to_batch(results);
          },
          [rows](Inputs x) {
            Doubles y;
            for (const auto& [all, begin, end, own] : kItems) {
              for (unsigned r = 0; r < rows; ++r) {
                double sum = 0;
                for (unsigned c = begin; c < end; ++c) sum += std::exp(x[0][c * rows + r]);
                y.push_back(std::exp(x[0][own * rows + r]) / sum);
              }
            }
            return y;
          }};
}

INSTANTIATE_TEST_SUITE_P(Softmax, ComposedOpTest,
                         ::testing::Values(softmax_in_any_order(1), softmax_in_any_order(21)),
                         [](const auto& test) {
                           return "of_" + std::to_string(test.param.inputs[0].rows()) + "_rows";
                         });

INSTANTIATE_TEST_SUITE_P(
    Segments, ComposedOpTest,
    ::testing::Values(gather_of("gather", {5, 4}, {3, 0, 3, 3, 1, 2, 0}),
                      gather_of("gather_one_row", {1, 4}, {3, 0}),
                      gather_of("gather_planes", {2, 3, 4}, {1, 3}),
                      scatter_of("sums_in_order", {5, 6}, 1, {0, 0, 2, 2, 2, 4}, 5, false),
                      scatter_of("sums", {5, 6}, 1, {4, 0, 2, 2, 0, 4}, 6, false),
                      scatter_of("sums_of_rows", {5, 3}, 0, {1, 2, 1, 0, 1}, 3, false),
                      scatter_of("sums_of_planes", {2, 5, 3}, 1, {1, 1, 1, 0, 2}, 4, false),
                      scatter_of("sums_of_numbers", {5}, 0, {1, 2, 1, 0, 1}, 3, false),
                      scatter_of("largest", {5, 6}, 1, {2, 0, 2, 1, 0, 2}, 3, true),
                      scatter_of("largest_of_rows", {9, 2}, 0, {1, 0, 1, 0, 0, 1, 2, 2, 1}, 3,
                                 true)),
    [](const auto& test) { return std::string(test.param.name); });

struct Edge {
  unsigned from, to;
};
struct Graph {
  unsigned nodes = 0;
  std::vector<Edge> edges;  // by the node that they lead to
};

Graph random_graph(unsigned nodes, Random& random) {
  Graph graph{nodes, {}};
  for (unsigned to = 0; to < nodes; ++to) {
    for (auto left = 1 + random.below(3); left > 0; --left) {
      graph.edges.push_back({static_cast<unsigned>(random.below(nodes)), to});
    }
  }
  return graph;
}

/// Networks over graphs of different sizes.
class GraphNetworkTest : public ::testing::Test {
 protected:
  static constexpr unsigned kSize = 9;
  using Record = std::function<Expression(const Expression& nodes, const Graph& graph)>;

  Expression run(ComputationGraph& graph, const Graph& of, const Record& record) const {
    Places kinds(of.nodes);
    for (unsigned i = 0; i < of.nodes; ++i) kinds[i] = (3 * i + of.nodes) % 11;
    const Expression nodes = reshape(lookup(graph, table, kinds), Dim({kSize, of.nodes}));
    return record(affine_transform({parameter(graph, bias), parameter(graph, weights), nodes}), of);
  }
  std::size_t batches(const Record& record, bool of_equal_sizes) const {
    Minibatch batch;
    for (const Graph& each : graphs) {
      batch.add_output(run(batch.new_graph(), of_equal_sizes ? graphs[0] : each, record));
    }
    batch.forward();
    return batch.explain().batches;
  }
  // Two rounds of messages of three kinds, and the sum over all nodes.
  static Expression network(const Expression& nodes, const Graph& graph) {
    Places from, to, degrees(graph.nodes, 0);
    for (const Edge& edge : graph.edges) {
      from.push_back(edge.from);
      to.push_back(edge.to);
      ++degrees[edge.to];
    }
    Expression h = nodes;
    for (int round = 0; round < 2; ++round) {
      const Expression messages = tanh(gather(h, from, 1));
      const Expression weighted = cmult(messages, segment_softmax(messages, degrees));
      h = tanh(h + segment_sum(weighted, degrees) + segment_max(messages, degrees) +
               scatter_add(gather(h, to, 1), from, graph.nodes, 1));
    }
    return segment_mean(h, {graph.nodes});
  }

  const std::vector<Graph> graphs = [] {
    Random random(5);
    std::vector<Graph> all;
    for (const unsigned nodes : {7, 1, 12, 30, 2, 12, 5}) {
      all.push_back(random_graph(nodes, random));
    }
    return all;
  }();
  ParameterCollection model{7};
  LookupParameter table = model.add_lookup_parameters(11, {kSize});
  Parameter weights = model.add_parameters({kSize, kSize});
  Parameter bias = model.add_parameters({kSize});
};

TEST_F(GraphNetworkTest, GraphsOfAllSizesShareBatches) {
  EXPECT_EQ(batches(network, false), batches(network, true));
}

TEST_F(GraphNetworkTest, HasTheSameBitsInEveryBatch) {
  nn::expect_same_bits_in_batches(model, static_cast<unsigned>(graphs.size()),
                                  [&](ComputationGraph& graph, unsigned sample) {
                                    return squared_norm(run(graph, graphs[sample], network));
                                  });
}

// Rows that were chosen are computed once: a sum over one of them leaves its sign.
TEST_F(GraphNetworkTest, GatherCopies) {
  ComputationGraph graph;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Expression x = input(graph, {2, 2}, {-0.0f, nan, 3, -4});
  EXPECT_TRUE(
      testing::same(as_vector(gather(x, {1, 0, 0}, 1).value()), {3, -4, -0.0f, nan, -0.0f, nan}));
}

TEST_F(GraphNetworkTest, RefusesWhatDoesNotFit) {
  ComputationGraph graph;
  const Expression x = zeros(graph, {2, 3});
  const auto message = [](const auto& act) { return message_of<std::exception>(act); };
  EXPECT_EQ(message([&] { gather(x, {0, 3}, 1); }), "[gather] need integers below 3; got 3");
  EXPECT_EQ(message([&] { select_cols(x, {4}); }), "[select_cols] need integers below 3; got 4");
  EXPECT_EQ(message([&] { gather(x, Places(), 1); }),
            "[gather] need at least 1 place; got 0, of {2,3}: no expression is empty, so leave out "
            "this one and all that reads it");
  EXPECT_EQ(message([&] {
              scatter_add(x, {0, 1, 2}, 2, 1);
            }),
            "[scatter_add] need integers below 2; got 2");
  EXPECT_EQ(message([&] {
              scatter_max(x, {0, 1}, 2, 1);
            }),
            "[scatter_max] need a place for each of 3 elements, and at least one; not 2 in 2; got "
            "{2,3}");
  EXPECT_EQ(message([&] {
              segment_max(x, {2, 1}, 2);
            }),
            "[segment_max] need elements along dimension 2; got {2,3}");
  EXPECT_EQ(message([&] {
              segment_sum(x, {2, 2});
            }),
            "[segment_sum] need lengths that add up to 3, the size of dimension 1; got 2 that add "
            "up to 4");
}

}  // namespace
}  // namespace dynet_like
