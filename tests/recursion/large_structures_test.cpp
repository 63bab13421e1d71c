// Structures that are large in one way or another: as quick as others of their size, or refused
// before they take memory.
#include "dynet_like/tape/vertices.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/same_bits.h"

namespace dynet_like::testing {
namespace {

using Before = std::vector<Expression>;

std::vector<unsigned> shuffled(unsigned n, std::uint64_t seed) {
  std::vector<unsigned> all(n);
  std::iota(all.begin(), all.end(), 0);
  std::mt19937_64 random(seed);
  std::ranges::shuffle(all, random);
  return all;
}

/// A chain whose place i is vertex order[i].
Structure chain(const std::vector<unsigned>& order) {
  std::vector<Structure::Vertex> vertices(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0) vertices[order[i]].predecessors = {order[i - 1]};
    vertices[order[i]].column = order[i];
  }
  return Structure(vertices);
}

/// Vertices without predecessors, vertex i with column i, and one that reads the first of them.
Structure fan(unsigned leaves, unsigned read) {
  std::vector<unsigned> all(leaves);
  std::iota(all.begin(), all.end(), 0);
  std::vector<Structure::Vertex> vertices;
  for (unsigned v = 0; v < leaves; ++v) vertices.push_back({{}, v});
  all.resize(read);
  vertices.push_back({all, 0});
  return Structure(vertices);
}

TEST(LargeStructures, AreChainsInAnyOrder) {
  constexpr unsigned kVertices = 200000;
  const std::vector<unsigned> order = shuffled(kVertices, 1);
  const Structure structure = chain(order);
  const detail::Vertices& vertices = *structure.vertices();
  EXPECT_EQ(vertices.levels, kVertices);
  for (unsigned i = 0; i < kVertices; ++i) ASSERT_EQ(vertices.level[order[i]], i);
}

// Every level is behind those of all predecessors, whatever the order.
TEST(LargeStructures, HaveTheLevelsOfTheirPaths) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    const unsigned n = 1 + static_cast<unsigned>(random() % 40);
    const std::vector<unsigned> name = shuffled(n, seed);
    std::vector<std::vector<unsigned>> before(n);
    std::vector<unsigned> level(n, 0);
    for (unsigned v = 0; v < n; ++v) {
      for (unsigned p = 0; v > 0 && p < random() % 4; ++p) {
        const auto from = static_cast<unsigned>(random() % v);
        before[name[v]].push_back(name[from]);
        level[name[v]] = std::max(level[name[v]], level[name[from]] + 1);
      }
    }
    std::vector<Structure::Vertex> vertices;
    for (unsigned v = 0; v < n; ++v) vertices.push_back({before[v]});
    EXPECT_EQ(Structure(vertices).vertices()->level, level) << seed;
    // A way from the last vertex back to the first closes a cycle.
    if (level[name[n - 1]] == 0) continue;
    std::vector<unsigned> up{name[n - 1]};
    while (level[up.back()] > 0) up.push_back(before[up.back()][0]);
    vertices[up.back()].predecessors = {name[n - 1]};
    EXPECT_THROW(Structure{vertices}, UsageError) << seed;
  }
}

struct Kinds {
  std::vector<float> of(const Structure& structure, unsigned columns) {
    ComputationGraph graph;
    const Expression x = input(graph, {1, columns}, std::vector<float>(columns, 0.5f));
    const Expression y = rnn(structure, x).all();
    const Expression loss = sum_elems(cmult(y, y));
    std::vector<float> numbers = as_vector(y.value());
    numbers.push_back(graph.backward(loss).values(w)[0]);
    return numbers;
  }
  ParameterCollection model{1};
  Parameter w = model.add_parameters({1});
  Recursion<Expression> rnn =
      recursion<Expression>([w = w](unsigned kind, const Expression& x, const Before& before) {
        const Expression h = x * (1.0f + 0.0001f * static_cast<float>(kind));
        return tanh(cmult(parameter(*x.pg, w), before.empty() ? h : h + sum(before) * 0.5f));
      });
};

// One after the other, and each in a level of its own.
TEST(LargeStructures, HaveManyKinds) {
  constexpr unsigned kKinds = 10000;
  const std::vector<unsigned> kinds = shuffled(kKinds, 2);
  std::vector<Structure::Vertex> vertices;
  for (unsigned v = 0; v < kKinds; ++v) {
    vertices.push_back({{}, v, kinds[v]});
    if (v % 100 != 0) vertices.back().predecessors = {v - 1};
  }
  Kinds all;
  const std::vector<float> numbers = all.of(Structure(vertices), kKinds);
  const float w = as_vector(all.w.values())[0];
  float h = 0;
  for (unsigned v = 0; v < kKinds; ++v) {
    const float x = 0.5f * (1.0f + 0.0001f * static_cast<float>(kinds[v]));
    h = std::tanh(w * (v % 100 == 0 ? x : x + 0.5f * h));
    ASSERT_NEAR(numbers[v], h, 1e-5f) << v;
  }
  // What was met before costs nothing, and changes nothing.
  Kinds fresh;
  EXPECT_EQ(all.of(Structure::sequence(5), 5), fresh.of(Structure::sequence(5), 5));
}

// Each kind comes with a structure of its own.
TEST(LargeStructures, MeetKindsOneByOne) {
  Kinds all;
  std::vector<std::vector<float>> first;
  const auto numbers_of_kind = [](Kinds& kinds, unsigned kind) {
    const Structure::Vertex vertex{{}, 0, kind};
    return kinds.of(Structure(std::span(&vertex, 1)), 1);
  };
  for (unsigned kind = 0; kind < 1500; ++kind) {
    const std::vector<float> numbers = numbers_of_kind(all, 7919 * kind % 1500);
    if (kind % 100 == 0) {
      Kinds fresh;
      EXPECT_EQ(numbers, numbers_of_kind(fresh, 7919 * kind % 1500)) << kind;
    }
  }
}

// A vertex for each number of predecessors, up to a thousand.
TEST(LargeStructures, HaveManyNumbersOfPredecessors) {
  constexpr unsigned kMost = 1000;
  std::vector<unsigned> leaves(kMost);
  std::iota(leaves.begin(), leaves.end(), 0);
  std::vector<Structure::Vertex> vertices;
  for (unsigned v = 0; v < kMost; ++v) vertices.push_back({{}, v});
  for (unsigned n = 1; n <= kMost; ++n) {
    vertices.push_back({{leaves.begin(), leaves.begin() + n}, 0});
  }
  Kinds all;
  const std::vector<float> numbers = all.of(Structure(vertices), kMost);
  const double w = as_vector(all.w.values())[0], leaf = std::tanh(w * 0.5);
  for (unsigned n = 1; n <= kMost; ++n) {
    ASSERT_NEAR(numbers[kMost + n - 1], std::tanh(w * (0.5 + 0.5 * leaf * n)), 1e-4) << n;
  }
}

// Sums of predecessors by a loop, whose operations are as many.
TEST(LargeStructures, HaveLongPrograms) {
  constexpr unsigned kMost = 1000;
  const auto rnn = recursion<Expression>([](const Expression& x, const Before& before) {
    Expression h = x;
    for (const Expression& state : before) h = h + cmult(state, x);
    return h;
  });
  ComputationGraph graph;
  const Expression x = input(graph, {1, kMost}, std::vector<float>(kMost, 1));
  EXPECT_EQ(as_scalar(rnn(fan(kMost, kMost), x).last().value()), kMost + 1.0f);
}

// The same with operations that stay apart, all of which add to the gradient of one column.
TEST(LargeStructures, HaveLongBackwardPrograms) {
  constexpr unsigned kMost = 2000;
  const auto rnn = recursion<Expression>([](const Expression& x, const Before& before) {
    Expression h = x;
    for (const Expression& state : before) h = h + dot_product(state, x);
    return h;
  });
  ParameterCollection model;
  const Parameter columns = model.add_parameters({kMost});
  columns.set_value(std::vector<float>(kMost, 1));
  ComputationGraph graph;
  const Expression x = reshape(parameter(graph, columns), Dim({1, kMost}));
  const Expression last = rnn(fan(kMost, kMost), x).last();
  EXPECT_EQ(as_scalar(last.value()), kMost + 1.0f);
  std::vector<float> slopes(kMost, 1);
  slopes[0] = kMost + 2;
  std::vector<float> found = graph.backward(sum_elems(last)).all_values(*columns.p);
  found.resize(kMost);
  EXPECT_EQ(found, slopes);
}

// A value that an operation reads again is copied: the copies are operations, too.
TEST(LargeStructures, ReadOneValueManyTimes) {
  constexpr unsigned kTimes = 70000;
  ComputationGraph graph;
  const Expression x = input(graph, {2}, {3, 5});
  const auto repeated =
      cell([](const Expression& y) { return concatenate(std::vector<Expression>(kTimes, y)); });
  const Expression all = repeated(x);
  EXPECT_EQ(as_vector(pick_range(all, 2 * kTimes - 3, 2 * kTimes).value()),
            (std::vector<float>{5, 3, 5}));
  graph.backward(sum_elems(all), true);
  EXPECT_EQ(as_vector(x.gradient()), std::vector<float>(2, kTimes));
}

TEST(LargeStructures, RefuseVerticesWithTooManyPredecessors) {
  constexpr unsigned kMost = 100000;
  Kinds all;
  EXPECT_EQ(message_of<UsageError>([&] { all.of(fan(kMost, kMost), kMost); }),
            "[recursion] need at most 16384 states that a vertex reads; got 100000 predecessors, "
            "with 1 state");
  EXPECT_EQ(all.of(fan(kMost, 16384), kMost).size(), kMost + 2u);
}

// The last that there can be, too.
TEST(LargeStructures, ReadAnyColumn) {
  const Structure::Vertex last{{}, 4294967294u};
  const Structure structure(std::span(&last, 1));
  EXPECT_FALSE(structure.vertices()->matrix(0).is_read_once);
  Kinds all;
  EXPECT_EQ(
      message_of<ShapeError>([&] { all.of(structure, 3); }),
      "[recursion] need a matrix of at least 4294967295 columns, which the vertices read; got "
      "{1,3}");
  for (const auto& columns : {std::vector<unsigned>{0, 1, 2}, {0, 2}, {1, 1, 0}, {0, 1, 1}, {2}}) {
    std::vector<Structure::Vertex> vertices;
    for (const unsigned column : columns) vertices.push_back({{}, column});
    EXPECT_EQ(Structure(vertices).vertices()->matrix(0).is_read_once,
              columns.size() == 3 && columns[1] + columns[2] == 3);
  }
}

}  // namespace
}  // namespace dynet_like::testing
