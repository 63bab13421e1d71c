// Gradients of values with several readers, and of weights that are read several times, are summed
// in an order that no schedule changes.
#include "tests/support/chains.h"
#include "tests/support/precompiled.h"

namespace dynet_like::testing {
namespace {

Expression product(Step& step, unsigned weights, const Expression& x) {
  return parameter(step.graph, step.model.weights44[weights]) * x;
}

// The same weights at several places of a step, and of what lies between them.
TEST(ChainsSums, WeightsThatAStepReadsTwice) {
  expect_same_chains([](Step& step) {
    const Expression a = product(step, 0, step.state);
    if (step.variant % 3 == 1) step.losses.push_back(sum_elems(product(step, 0, tanh(a))));
    const Expression b = product(step, 0, sigmoid(a));
    return tanh(product(step, 1, b) + product(step, 0, step.before));
  });
}

// A value with readers in the step and of losses, before and behind one another.
TEST(ChainsSums, ReadersBetween) {
  expect_same_chains([](Step& step) {
    const Expression a = tanh(product(step, 0, step.state));
    if (step.variant % 2 == 1) step.losses.push_back(sum_elems(product(step, 2, a)));
    const Expression b = sigmoid(product(step, 1, a));
    if (step.variant % 3 == 1) step.losses.push_back(sum_elems(product(step, 2, a)));
    const Expression c = cmult(b, a) + a;
    for (unsigned i = 0; i < step.variant % 4; ++i) step.losses.push_back(sum_elems(a * 0.3f));
    return c;
  });
}

// Readers of a value that run in another call, before and after the step.
TEST(ChainsSums, ReadersOfOtherCalls) {
  const RandomModel model;
  Program program = chain_program(model, [](Step& step) {
    const Expression a = tanh(product(step, 0, step.state));
    if (step.variant > 0) step.losses.push_back(sum_elems(exp(a)));
    const Expression b = cmult(sigmoid(product(step, 1, a)), a);
    step.watched.push_back(b);
    if (step.variant % 2 == 1) b.value();
    const Expression c = cmult(b, a) + step.state;
    if (step.variant > 3) step.losses.push_back(sum_elems(sqrt(sigmoid(a))));
    return c;
  });
  program.asks = true;
  expect_same_in_all_modes(program);
}

// Values that are losses themselves.
TEST(ChainsSums, ValuesThatAreRoots) {
  expect_same_chains([](Step& step) {
    const Expression a = tanh(product(step, 0, step.state));
    const Expression score = dot_product(a, step.state);
    if (step.variant % 2 == 1) step.losses.push_back(score);
    if (step.variant == 3) step.losses.push_back(score);
    const Expression gate = sigmoid(score);
    return a * (gate + score) + step.before;
  });
}

TEST(ChainsSums, PartsOfValues) {
  expect_same_chains([](Step& step) {
    const Expression wide =
        concatenate({product(step, 0, step.state), product(step, 1, step.state)});
    const Expression a = tanh(pick_range(wide, 0, 4)), b = sigmoid(pick_range(wide, 4, 8));
    if (step.variant % 3 == 1) step.losses.push_back(sum_elems(square(pick_range(wide, 4, 8))));
    if (step.variant % 3 == 2) step.losses.push_back(sum_elems(square(pick_range(wide, 1, 7))));
    if (step.variant % 4 == 3) step.losses.push_back(sum_elems(wide));
    return cmult(a, b) + pick_range(wide, 0, 4);
  });
}

TEST(ChainsSums, InputsThatAreEqualOrOverlap) {
  expect_same_chains([](Step& step) {
    Expression x = step.state, y = step.before;
    if (step.variant % 4 == 1) y = x;
    if (step.variant > 3) {
      const Expression both = concatenate({x, y});
      const unsigned at = step.variant - 3;  // 3: they share an element
      x = pick_range(both, 0, 4);
      y = pick_range(both, at, at + 4);
    }
    const Expression a = tanh(product(step, 0, x)), b = sigmoid(product(step, 1, y));
    return cmult(a, x) + cmult(b, y) + cmult(a, b);
  });
}

TEST(ChainsSums, InputsThatManyStepsRead) {
  expect_same_chains([](Step& step) {
    const Expression shared = step.variant % 2 == 0 ? step.fixed : step.before;
    const Expression a = tanh(product(step, 0, step.state) + shared);
    return cmult(a, shared) + cmult(sigmoid(a), shared);
  });
}

TEST(ChainsSums, InputsThatAreParametersOrConstants) {
  expect_same_chains([](Step& step) {
    const Expression b = parameter(step.graph, step.model.bias4);
    const Expression inputs[] = {step.before,
                                 b,
                                 const_parameter(step.graph, step.model.bias4),
                                 constant(step.graph, {4}, 0.7f),
                                 tanh(b),
                                 lookup(step.graph, step.model.table4, step.variant % 9),
                                 nobackprop(step.state)};
    const Expression x = inputs[step.variant];
    return cmult(tanh(product(step, 0, step.state) + x), sigmoid(x));
  });
}

// Of which some reach no parameter, and some no loss.
TEST(ChainsSums, StepsThatTakePartInPart) {
  expect_same_chains([](Step& step) {
    const Expression x = step.variant % 3 == 1 ? step.fixed : step.state;
    const Expression a = sigmoid(x), b = tanh(cmult(a, x));
    const Expression c = product(step, 0, b), d = tanh(c);
    if (step.variant == 2) return step.state;
    if (step.variant == 4) return nobackprop(d) + step.state;
    return step.variant == 5 ? cmult(b, step.before) : cmult(d, a);
  });
}

}  // namespace
}  // namespace dynet_like::testing
