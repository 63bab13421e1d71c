// Positions: sines against the formula, learned tables, parts of a sequence, errors.
#include "nn/positions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "tests/support/layers.h"
#include "tests/support/message_of.h"

namespace dynet_like::nn {
namespace {

TEST(PositionsTest, SinesFollowTheFormula) {
  for (const unsigned size : {6u, 5u}) {
    const SinusoidalPositions positions(50, size);
    ComputationGraph graph;
    const Tensor got = positions(zeros(graph, {size, 40}), 10).value();
    for (unsigned j = 0; j < 40; ++j) {
      for (unsigned i = 0; 2 * i < size; ++i) {
        const double angle = (10.0 + j) / std::pow(10000.0, 2.0 * i / size);
        EXPECT_NEAR(got.at(j * size + 2 * i), std::sin(angle), 1e-6);
        if (2 * i + 1 == size) continue;
        EXPECT_NEAR(got.at(j * size + 2 * i + 1), std::cos(angle), 1e-6);
      }
    }
  }
}

TEST(PositionsTest, LearnedVectorsAreAdded) {
  ParameterCollection model;
  const LearnedPositions positions(model, 6, 3);
  const LookupParameter table(model.find("/positions/E"));
  ComputationGraph graph;
  const Expression x = drawn_matrix(graph, 3, 4, 1);
  const std::vector<float> before = as_vector(x.value()), got = as_vector(positions(x, 2).value());
  for (unsigned j = 0; j < 4; ++j) {
    for (unsigned i = 0; i < 3; ++i) {
      EXPECT_EQ(got[3 * j + i], before[3 * j + i] + table.values(2 + j).v[i]);
    }
  }
}

TEST(PositionsTest, APartIsThatOfTheWhole) {
  ParameterCollection model;
  const SinusoidalPositions sines(6, 3);
  const LearnedPositions learned(model, 6, 3);
  ComputationGraph graph;
  const Expression x = drawn_matrix(graph, 3, 6, 1);
  for (unsigned j = 0; j < 6; ++j) {
    const Expression column = pick(x, j, 1);
    EXPECT_EQ(as_vector(sines(column, j).value()), as_vector(pick(sines(x), j, 1).value()));
    EXPECT_EQ(as_vector(learned(column, j).value()), as_vector(pick(learned(x), j, 1).value()));
    EXPECT_EQ(learned(column, j).dim(), Dim({3}));
  }
}

TEST(PositionsTest, Errors) {
  ParameterCollection model;
  const SinusoidalPositions sines(6, 3);
  const LearnedPositions learned(model, 6, 3);
  ComputationGraph graph;
  const auto check = [&](const auto& positions) {
    EXPECT_NO_THROW(positions(zeros(graph, {3, 6})));
    const std::string message = message_of<UsageError>([&] { positions(zeros(graph, {3, 2}), 5); });
    EXPECT_NE(message.find("need columns at the 6 positions that it was made for; got 2 columns "
                           "from position 5 on"),
              std::string::npos)
        << message;
    EXPECT_THROW(positions(zeros(graph, {3, 7})), UsageError);
    EXPECT_THROW(positions(zeros(graph, {3}), ~0u), UsageError);
    EXPECT_THROW(positions(zeros(graph, {4, 2})), ShapeError);
    EXPECT_THROW(positions(zeros(graph, {3, 2, 2})), ShapeError);
  };
  check(sines);
  check(learned);
  EXPECT_THROW(SinusoidalPositions(0, 3), ShapeError);
  EXPECT_THROW(SinusoidalPositions(3, 0), ShapeError);
  EXPECT_THROW(LearnedPositions(model, 0, 3), ShapeError);
}

}  // namespace
}  // namespace dynet_like::nn
