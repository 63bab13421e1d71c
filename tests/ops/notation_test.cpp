// Ways to write things down: several expressions in a call, in-place arithmetic, expressions and
// tensors in a stream, the places of the largest elements.
#include <array>

#include "dynet_like/ops/structured.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

template <class T>
std::string text_of(const T& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

class OpNotationTest : public ::testing::Test {
 protected:
  ComputationGraph graph_;
  Expression x_ = input(graph_, {2}, {1, -2}), y_ = input(graph_, {2}, {3, 5});
};

TEST_F(OpNotationTest, SeveralExpressions) {
  const std::vector<Expression> vector = {x_, y_};
  const std::array<Expression, 2> array = {x_, y_};
  const Expression plain[] = {x_, y_};
  const std::vector<float> expected = {4, 3};
  EXPECT_EQ(as_vector(sum({x_, y_}).value()), expected);
  EXPECT_EQ(as_vector(sum(vector).value()), expected);
  EXPECT_EQ(as_vector(sum(array).value()), expected);
  EXPECT_EQ(as_vector(sum(plain).value()), expected);
  EXPECT_EQ(as_vector(sum(std::span(plain)).value()), expected);
  EXPECT_EQ(as_vector(min({x_, y_, 2.0f * x_}).value()), (std::vector<float>{1, -4}));
  EXPECT_EQ(as_vector(max({x_, y_, 4.0f * x_}).value()), (std::vector<float>{4, 5}));
  EXPECT_EQ(concatenate({x_, y_}, 1).dim(), Dim({2, 2}));
  EXPECT_THROW(sum({}), ShapeError);
  EXPECT_THROW(min({}), ShapeError);
}

TEST_F(OpNotationTest, PowersWithANumber) {
  const Expression squares = pow(x_, 2);
  EXPECT_FLOAT_EQ(squares.value().at(1), 4);
  EXPECT_EQ(as_vector(pow(y_, -0.5f).value()), as_vector(pow(y_, input(graph_, -0.5f)).value()));
  graph_.backward(sum_elems(squares), true);
  EXPECT_FLOAT_EQ(x_.gradient().at(1), -4);
  EXPECT_EQ(squares.dim(), Dim({2}));
}

TEST_F(OpNotationTest, BracesForCellsAndAnyOp) {
  const Expression b = input(graph_, {6}, std::vector<float>(6, 0.1f));
  const Expression w = input(graph_, {6, 2}, std::vector<float>(12, 0.2f));
  const Expression xs[] = {w, x_};
  EXPECT_EQ(as_vector(lstm_cell(b, {w, x_}, {}).h.value()),
            as_vector(lstm_cell(b, xs, std::vector<Expression>()).h.value()));
  const Expression both = apply_op(ops::concatenate, {x_, y_}, {0});
  EXPECT_EQ(as_vector(both.value()), (std::vector<float>{1, -2, 3, 5}));
  EXPECT_EQ(as_scalar(apply_op(ops::cross_entropy, {x_}, {}, {1}).value()),
            as_scalar(cross_entropy(x_, 1).value()));
}

TEST_F(OpNotationTest, InPlace) {
  Expression x = x_;
  x += y_;
  x -= 1.0f;
  x *= 2.0f;
  x -= x_;
  x /= 4.0f;
  x += 0.5f;
  EXPECT_EQ(as_vector(x.value()), (std::vector<float>{(4 - 1) * 2.0f / 4 - 0.25f + 0.5f,
                                                      (3 - 1) * 2.0f / 4 + 0.5f + 0.5f}));
  EXPECT_EQ(as_vector(x_.value()), (std::vector<float>{1, -2}));
}

TEST_F(OpNotationTest, ExpressionsInStreams) {
  EXPECT_EQ(text_of(tanh(x_)), "tanh {2}");
  EXPECT_EQ(text_of(concatenate({x_, y_}, 1).label("both")), "concatenate {2,2} \"both\"");
  EXPECT_EQ(text_of(Expression()), "(cleared expression)");
  const Expression gone = x_ + y_;
  graph_.clear();
  EXPECT_EQ(text_of(gone), "(cleared expression)");
}

// What lies at a pointer is read when the graph runs: not yet.
TEST_F(OpNotationTest, PrintingComputesNothing) {
  float number = 1;
  const Expression twice = 2.0f * input(graph_, &number);
  EXPECT_EQ(text_of(twice), "scalar_multiply {1}");
  number = 3;
  EXPECT_EQ(as_scalar(twice.value()), 6);
}

TEST_F(OpNotationTest, PlacesOfTheLargest) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Tensor t = input(graph_, Dim({3, 2}, 2), {1, 5, 5, 4, 2, 3, 0, -1, 0, 7, kNan, 9}).value();
  EXPECT_EQ(argmax(t), 10u);
  EXPECT_EQ(argmax(t.batch_elem(0)), 1u);
  EXPECT_EQ(argmax_of_columns(t), (std::vector<unsigned>{1, 0, 0, 1}));
  EXPECT_EQ(top_k_of_columns(t, 2), (std::vector<unsigned>{1, 2, 0, 2, 0, 2, 1, 2}));
  EXPECT_EQ(top_k_of_columns(t, 0), std::vector<unsigned>());
  EXPECT_THROW(top_k_of_columns(t, 4), ShapeError);
}

}  // namespace
}  // namespace dynet_like
