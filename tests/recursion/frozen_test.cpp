// Parameters that are frozen and thawed between calls of a function: its gradients are those of a
// function that is recorded anew, whatever it recorded before.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

#include "dynet_like/dynet_like.h"
#include "tests/support/same_bits.h"

namespace dynet_like::testing {
namespace {

constexpr unsigned kSize = 4;
using Before = std::vector<Expression>;
/// A function of a vertex, called for a leaf or for a root with so many leaves.
using Tree = std::function<Expression(const Expression& columns, unsigned leaves)>;

/// How a function reads a matrix of parameters.
struct Reading {
  const char* name;
  Expression (*of)(ComputationGraph& graph, const Parameter& p);
  bool has_gradient = true;
};
void PrintTo(const Reading& reading, std::ostream* out) { *out << reading.name; }

Expression part(const Expression& x, unsigned begin) { return pick_range(x, begin, begin + 2); }

const Reading kReadings[] = {
    {"AsItIs", [](auto& graph, auto& p) { return parameter(graph, p); }},
    {"Constant", [](auto& graph, auto& p) { return const_parameter(graph, p); }, false},
    {"HeldBack", [](auto& graph, auto& p) { return nobackprop(parameter(graph, p)); }, false},
    {"Derived", [](auto& graph, auto& p) { return tanh(parameter(graph, p)); }},
    {"DerivedOfConstant", [](auto& graph, auto& p) { return tanh(const_parameter(graph, p)); },
     false},
    {"DerivedAndHeldBack",
     [](auto& graph, auto& p) { return nobackprop(tanh(parameter(graph, p))) * 0.5f; }, false},
    {"InParts",
     [](auto& graph, auto& p) {
       const Expression all = parameter(graph, p);
       return concatenate({part(nobackprop(all), 0), part(all, 2)});
     }},
    {"BothWays",
     [](auto& graph, auto& p) { return parameter(graph, p) - 0.5f * const_parameter(graph, p); }},
};

class Frozen : public ::testing::TestWithParam<Reading> {
 public:
  Expression vertex(const Expression& x, const Before& before) const {
    Expression sum = GetParam().of(*x.pg, w) * x;
    for (const Expression& state : before) sum = sum + parameter(*x.pg, u) * state;
    return tanh(sum);
  }
  Tree new_recursion() const {
    return [along = recursion<Expression>([this](auto& x, const Before& before) {
              return vertex(x, before);
            })](const Expression& columns, unsigned leaves) {
      std::vector<Structure::Vertex> vertices;
      for (unsigned v = 0; v <= leaves; ++v) vertices.push_back({.column = v});
      for (unsigned v = 0; v < leaves; ++v) vertices.back().predecessors.push_back(v);
      return along(Structure(vertices), columns).last();
    };
  }
  Tree new_cell() const {
    return [step = cell([this](const Expression& x, const Before& before) {
              return vertex(x, before);
            })](const Expression& columns, unsigned leaves) {
      Before before;
      for (unsigned v = 0; v < leaves; ++v) before.push_back(step(pick(columns, v, 1), {}));
      return step(pick(columns, leaves, 1), before);
    };
  }
  void freeze(unsigned which) const {
    w.get_storage().frozen = (which & 1) != 0;
    u.get_storage().frozen = (which & 2) != 0;
  }
  /// Of one sample for each number of leaves.
  std::vector<float> gradients(const Tree& tree, const std::vector<unsigned>& leaves) const {
    Minibatch batch;
    for (const unsigned n : leaves) {
      const Expression columns =
          input(batch.new_graph(), {kSize, n + 1}, std::vector<float>(kSize * (n + 1), 0.25f));
      batch.add_loss(sum_elems(tree(columns, n)));
    }
    batch.forward();
    const Gradients& all = batch.backward();
    std::vector<float> numbers = all.values(w);
    for (const float x : all.values(u)) numbers.push_back(x);
    return numbers;
  }

  ParameterCollection model{3};
  Parameter w = model.add_parameters({kSize, kSize}), u = model.add_parameters({kSize, kSize});
};

TEST_P(Frozen, ParametersAreWhatTheyAreNow) {
  for (const auto& make : {&Frozen::new_recursion, &Frozen::new_cell}) {
    for (unsigned first = 0; first < 4; ++first) {
      for (unsigned second = 0; second < 4; ++second) {
        const Tree kept = (this->*make)();
        const auto check = [&](unsigned frozen, const std::vector<unsigned>& leaves) {
          SCOPED_TRACE(std::to_string(first) + " " + std::to_string(second) + " " +
                       std::to_string(frozen) + " " + std::to_string(leaves.size()));
          freeze(frozen);
          const std::vector<float> got = gradients(kept, leaves);
          EXPECT_TRUE(same(got, gradients((this->*make)(), leaves)));
          constexpr unsigned kAll = kSize * kSize;
          EXPECT_EQ(std::count(got.begin(), got.begin() + kAll, 0.0f) == kAll,
                    (frozen & 1) != 0 || !GetParam().has_gradient);
          EXPECT_EQ(std::count(got.begin() + kAll, got.end(), 0.0f) == kAll, (frozen & 2) != 0);
        };
        check(first, {2});
        check(second, {2, 3});  // 3 leaves are a new kind of vertex
        check(0, {3, 1});
        check(first, {1, 2, 3});
      }
    }
  }
}

// One graph goes on after parameters were frozen and let go.
TEST_P(Frozen, ParametersMayChangeFromSampleToSample) {
  for (const auto& make : {&Frozen::new_recursion, &Frozen::new_cell}) {
    const Tree kept = (this->*make)();
    ComputationGraph graph;
    const Expression columns = input(graph, {kSize, 4}, std::vector<float>(4 * kSize, 0.25f));
    std::vector<Expression> losses;
    std::vector<float> sums(2 * kSize * kSize);
    for (const auto& [frozen, leaves] : {std::pair{1u, 1u}, {0u, 2u}, {3u, 3u}, {2u, 2u}}) {
      freeze(frozen);
      losses.push_back(sum_elems(kept(columns, leaves)));
      const std::vector<float> alone = gradients((this->*make)(), {leaves});
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += alone[i];
    }
    const Gradients& all = graph.backward(sum(losses));
    std::vector<float> got = all.values(w);
    for (const float x : all.values(u)) got.push_back(x);
    for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_NEAR(got[i], sums[i], 1e-5f) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Readings, Frozen, ::testing::ValuesIn(kReadings),
                         [](const auto& info) { return std::string(info.param.name); });

// A vertex that reads frozen parameters alone has no backward pass, although another kind, which
// was met before, reads others.
TEST(FrozenTest, OtherKindsDoNotCount) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({2}), u = model.add_parameters({2});
  const auto along = recursion<Expression>([&](unsigned kind, const Expression& x, const Before&) {
    return cmult(x, kind == 0 ? parameter(*x.pg, w) : parameter(*x.pg, u));
  });
  const auto gradient = [&](unsigned kind) {
    Minibatch batch;
    const Expression x = input(batch.new_graph(), {2, 1}, {1, 2});
    const Structure one(std::vector<Structure::Vertex>{{.column = 0, .kind = kind}});
    const Expression state = along(one, x).last();
    batch.add_loss(sum_elems(state));
    batch.forward();
    batch.backward();
    return as_vector(state.gradient());
  };
  const std::vector<float> ones = {1, 1}, none = {0, 0};
  EXPECT_EQ(gradient(0), ones);
  EXPECT_EQ(gradient(1), ones);
  w.get_storage().frozen = true;
  EXPECT_EQ(gradient(0), none);
  EXPECT_EQ(gradient(1), ones);
}

// A function that now reads another parameter is another one, frozen or not.
TEST(FrozenTest, OtherParametersAreNoticed) {
  ParameterCollection model;
  const std::array both = {model.add_parameters({2}), model.add_parameters({2})};
  unsigned which = 0;
  const auto moody =
      cell([&](const Expression& x) { return cmult(x, parameter(*x.pg, both[which])); });
  ComputationGraph graph({.verify_batching = true});
  const Expression x = input(graph, {2}, {1, 2});
  moody(x);
  both[0].get_storage().frozen = true;
  EXPECT_NO_THROW(moody(x));
  which = 1;
  EXPECT_THROW(moody(x), UsageError);
}

}  // namespace
}  // namespace dynet_like::testing
