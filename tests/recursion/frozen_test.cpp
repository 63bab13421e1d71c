// Parameters that are frozen and thawed between calls of a function; random_programs_test has many
// functions more.
#include <array>

#include "tests/support/precompiled.h"

namespace dynet_like::testing {
namespace {

using Before = std::vector<Expression>;

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

// One graph goes on after a parameter was frozen, and after it was let go.
TEST(FrozenTest, FromCallToCallOfOneGraph) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({4}, ParameterInitUniform(-1, 1));
  const auto function = [&](const Expression& x) { return cmult(x, parameter(*x.pg, w)); };
  const auto step = cell(function);
  const auto along =
      recursion<Expression>([&](const Expression& x, const Before&) { return function(x); });
  const auto call_step = [&](const Expression& x) { return step(x); };
  const auto call_along = [&](const Expression& x) {
    return along(Structure::sequence(1), x).last();
  };
  for (const std::function<Expression(const Expression&)>& call :
       {std::function<Expression(const Expression&)>(call_step), {call_along}}) {
    ComputationGraph graph;
    const Expression x = input(graph, {4}, {1, 2, 3, 4});
    const auto gradient = [&] { return graph.backward(sum_elems(call(x))).values(w); };
    const std::vector<float> moves = {1, 2, 3, 4};
    EXPECT_EQ(gradient(), moves);
    w.get_storage().frozen = true;
    const Expression held = sum_elems(call(x));
    EXPECT_EQ(graph.backward(held).values(w), std::vector<float>(4, 0));
    w.get_storage().frozen = false;
    EXPECT_EQ(gradient(), moves);
    EXPECT_EQ(graph.backward(held + sum_elems(call(x))).values(w), moves);
  }
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
