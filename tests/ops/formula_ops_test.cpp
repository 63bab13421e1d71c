// Ops declared by their formula: against the same operations composed, and what they refuse.
#include "dynet_like/graph/formula_op.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

std::vector<float> some_numbers(std::size_t n) {
  Random random(5);
  std::vector<float> numbers(n);
  for (float& number : numbers) number = 6 * random.uniform() - 3;
  return numbers;
}

/// The value and the gradients of all inputs of f.
template <class F>
std::vector<std::vector<float>> results_of(const F& f, unsigned inputs) {
  ComputationGraph graph;
  std::vector<Expression> xs;
  for (unsigned j = 0; j < inputs; ++j) {
    std::vector<float> numbers = some_numbers(700 + 300 * inputs);
    numbers.erase(numbers.begin(), numbers.begin() + 300 * j);
    numbers.resize(700);
    xs.push_back(input(graph, {700}, numbers) + 0.0f);
  }
  const Expression y = f(xs);
  graph.backward(sum_elems(square(y)), true);
  std::vector<std::vector<float>> results = {as_vector(y.value())};
  for (const Expression& x : xs) results.push_back(as_vector(x.gradient()));
  return results;
}

// All functions of formulas, each with an argument where it has a slope.
TEST(FormulaOpTest, IsWhatItsOperationsAreComposed) {
  using Xs = std::vector<Expression>;
  static const FormulaOp curves("curves", [](Term x) {
    const Term positive = square(x) + 0.5;
    return exp(-x) + log(positive) * sqrt(positive) - abs(x) / positive + tanh(x) * sigmoid(x) +
           relu(x) + softplus(x) - log_sigmoid(x) * softsign(x) + gelu(x);
  });
  const auto composed_curves = [](const Xs& xs) {
    const Expression& x = xs[0];
    const Expression positive = square(x) + 0.5f;
    return exp(-x) + cmult(log(positive), sqrt(positive)) - cdiv(abs(x), positive) +
           cmult(tanh(x), sigmoid(x)) + relu(x) + softplus(x) - cmult(log_sigmoid(x), softsign(x)) +
           gelu(x);
  };
  static const FormulaOp choices("choices", [](Term a, Term b, Term c) {
    return where(less(a, b), a * c, min(b, 2 - c)) + max(a, sign(b)) * less_equal(c, a) +
           equal(a, a) / 3;
  });
  const auto composed_choices = [](const Xs& xs) {
    const Expression &a = xs[0], &b = xs[1], &c = xs[2];
    return where(less(a, b), cmult(a, c), min(b, 2.0f - c)) +
           cmult(max(a, sign(b)), less_equal(c, a)) + equal(a, a) / 3.0f;
  };
  const auto expect_near = [](const std::vector<std::vector<float>>& got,
                              const std::vector<std::vector<float>>& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      for (std::size_t i = 0; i < got[k].size(); ++i) {
        EXPECT_NEAR(got[k][i], expected[k][i], 1e-5f * (1 + std::abs(expected[k][i])))
            << (k == 0 ? "value " : "gradient ") << i;
      }
    }
  };
  expect_near(results_of([](const Xs& xs) { return curves(xs[0]); }, 1),
              results_of(composed_curves, 1));
  expect_near(results_of([](const Xs& xs) { return choices(xs[0], xs[1], xs[2]); }, 3),
              results_of(composed_choices, 3));
}

// What the backward pass would read is not kept where there is none.
TEST(FormulaOpTest, InferenceKeepsNothingOfTheFirstLayers) {
  static const FormulaOp mish("mish", [](Term x) { return x * tanh(softplus(x)); });
  const auto peak_of = [](unsigned layers) {
    GraphOptions options;
    options.inference = true;
    Minibatch batch(options);
    for (unsigned sample = 0; sample < 4; ++sample) {
      Expression x = input(batch.new_graph(), {5000}, some_numbers(5000));
      for (unsigned layer = 0; layer < layers; ++layer) x = mish(x);
      batch.add_output(x);
    }
    batch.forward();
    return static_cast<double>(batch.explain().peak_bytes);
  };
  EXPECT_LT(peak_of(60), 1.2 * peak_of(10));
}

TEST(FormulaOpTest, RefusesNoInputsAtAll) {
  const FormulaOp negative("negative", [](Term x) { return -x; });
  EXPECT_TRUE(mentions(message_of<ShapeError>([&] { negative(); }), "[negative]"));
}

TEST(FormulaOpTest, RefusesWhatIsNoFormula) {
  const auto message = [](const auto& formula) {
    return message_of<UsageError>([&] { FormulaOp("f", formula); });
  };
  const std::string needs_steps =
      "[f] need a formula that computes something from its inputs; got an input, a constant, or a "
      "term of another formula";
  EXPECT_EQ(message([](Term x) { return x; }), needs_steps);
  EXPECT_EQ(message([](Term) { return 2.0; }), needs_steps);
  Term kept = 0;
  FormulaOp("other", [&](Term x) { return kept = -x; });
  EXPECT_EQ(message([&](Term) { return kept; }), needs_steps);
  EXPECT_EQ(message([&](Term x) { return x + kept; }),
            "[formula] need terms of one formula; got one of another");
  EXPECT_EQ(message([](Term x) { return x * exp(Term(2)); }),
            "[formula] need a term that depends on an input; got constants alone: compute them as "
            "plain numbers");
  const auto wide = [](Term x) {
    std::vector<Term> terms;
    for (int i = 0; i < 40; ++i) terms.push_back(square(x * i));
    Term sum = terms[0];
    for (const Term& term : terms) sum = sum * term;
    return sum;
  };
  EXPECT_EQ(message(wide),
            "[f] need a formula of at most 32 numbers at once; got 121: make two ops of it");
}

TEST(FormulaOpTest, NeedsInputsOfOneShape) {
  static const FormulaOp product("product", [](Term a, Term b) { return a * b; });
  ComputationGraph graph;
  const Expression three = zeros(graph, {3}), four = zeros(graph, {4});
  EXPECT_EQ(message_of<ShapeError>([&] { product(three, four); }),
            "[formula] need inputs of one shape; got {3} {4}");
  EXPECT_EQ(message_of<ShapeError>([&] { product(three); }),
            "[product] need 2 inputs, not 1; got {3}");
  EXPECT_EQ(product(three, three).dim(), Dim({3}));
}

}  // namespace
}  // namespace dynet_like
