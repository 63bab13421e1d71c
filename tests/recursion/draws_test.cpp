// Random numbers of functions: a recursion, a cell and direct calls draw the same.
#include <gtest/gtest.h>

#include <functional>

#include "dynet_like/dynet_like.h"
#include "tests/support/same_bits.h"

namespace dynet_like::testing {
namespace {

constexpr unsigned kSize = 12;
using Before = std::vector<Expression>;
using Vertex = Expression (*)(const Expression& x, const Before& before);

Expression matrix(const Expression& x) { return reshape(x, {4, 3}); }

struct Case {
  const char* name;
  Vertex vertex;
};
void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }

const Case kCases[] = {
    {"OnlySomeVerticesDraw",
     [](auto& x, auto& before) {
       return before.empty() ? x * 1.0f : dropout(x + before[0], 0.5f);
     }},
    // The elementwise operations before the first one are joined with those behind the second one.
    {"OperationsMove",
     [](auto& x, auto& before) {
       const Expression h = before.empty() ? x * 1.0f : before[0];
       const Expression first = dropout(tanh(tanh(x) + h), 0.5f);
       return first + dropout(tanh(h), 0.5f) * 100.0f;
     }},
    {"SomeAreNotNeeded",
     [](auto& x, auto& before) {
       for (const Expression& h : before) dropout(h, 0.5f);
       const Expression needed = dropout(x, 0.5f);
       dropout(needed, 0.5f);
       return before.empty() ? needed : needed + dropout(before.back(), 0.25f);
     }},
    {"NoneIsNeeded",
     [](auto& x, auto&) {
       dropout(x, 0.5f);
       return x * 2.0f;
     }},
    {"OfDistributions",
     [](auto& x, auto& before) {
       const Expression a = random_normal(*x.pg, {kSize}), b = random_gumbel(*x.pg, {kSize});
       const Expression sum = x + cmult(b, random_uniform(*x.pg, {kSize}, -1, 1)) + a;
       return before.empty() ? sum : noise(sum - before[0], 0.25f);
     }},
    {"OfMatrices",
     [](auto& x, auto& before) {
       const Expression all = matrix(before.empty() ? x : x + before[0]);
       return reshape(dropout(tanh(all), 0.25f) + random_bernoulli(*x.pg, {4, 3}, 0.5f), {kSize});
     }},
    {"Many",
     [](auto& x, auto& before) {
       Expression sum = before.empty() ? x : x + before[0];
       for (unsigned i = 0; i < 70; ++i) sum = sum + dropout(x, 0.5f) * 0.125f;
       return sum;
     }},
    {"NoVertexDraws",
     [](auto& x, auto& before) { return before.empty() ? x : tanh(x + before[0]); }},
};

/// Predecessors by vertex, and an order of vertices with predecessors first.
struct Shape {
  std::vector<std::vector<unsigned>> predecessors;
  std::vector<unsigned> order;
};
const Shape kShapes[] = {
    {{{}, {0}, {1}, {2}}, {0, 1, 2, 3}},
    {{{1}, {2}, {3}, {}}, {3, 2, 1, 0}},
    {{{}, {}, {0, 1}, {}, {2, 3}}, {0, 1, 2, 3, 4}},
    {{{2}, {}, {1}, {0, 2}}, {1, 2, 0, 3}},  // neither up nor down: level by level
};

class Draws : public ::testing::TestWithParam<Case> {
 protected:
  using Run = std::function<std::vector<Expression>(const Expression& columns, const Shape& shape)>;

  /// All states, and what is drawn before and after them, by each of two samples.
  static std::vector<float> numbers_of(const Run& run, bool inference) {
    std::vector<float> numbers;
    Minibatch batch({.inference = inference, .seed = 77});
    std::vector<Expression> all;
    for (unsigned sample = 0; sample < 2; ++sample) {
      ComputationGraph& graph = batch.new_graph();
      for (const Shape& shape : kShapes) {
        const auto n = static_cast<unsigned>(shape.order.size());
        std::vector<float> values(kSize * n);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.5f + 0.01f * i;
        const Expression columns = input(graph, {kSize, n}, values);
        for (const Expression& state : run(columns, shape)) all.push_back(state);
        all.push_back(dropout(columns, 0.5f));
      }
    }
    for (const Expression& e : all) append(numbers, e.value());
    return numbers;
  }
  template <class F>
  static Run by_vertex(const F& function) {
    return [&](const Expression& columns, const Shape& shape) {
      std::vector<Expression> states(shape.order.size());
      for (const unsigned v : shape.order) {
        Before before;
        for (const unsigned p : shape.predecessors[v]) before.push_back(states[p]);
        states[v] = function(pick(columns, v, 1), before);
      }
      return states;
    };
  }
};

TEST_P(Draws, AreTheSameInAllForms) {
  const Vertex vertex = GetParam().vertex;
  const auto along = recursion<Expression>(vertex);
  const auto step = cell(vertex);
  const Run by_recursion = [&](const Expression& columns, const Shape& shape) {
    std::vector<Structure::Vertex> vertices;
    for (unsigned v = 0; v < shape.order.size(); ++v) {
      vertices.push_back({.predecessors = shape.predecessors[v], .column = v});
    }
    const auto states = along(Structure(vertices), columns);
    std::vector<Expression> all;
    for (unsigned v = 0; v < vertices.size(); ++v) all.push_back(states[v]);
    return all;
  };
  for (const bool inference : {false, true}) {
    const std::vector<float> want = numbers_of(by_vertex(vertex), inference);
    EXPECT_TRUE(same(numbers_of(by_recursion, inference), want)) << inference;
    EXPECT_TRUE(same(numbers_of(by_vertex(step), inference), want)) << inference;
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, Draws, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace dynet_like::testing
