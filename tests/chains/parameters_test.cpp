// Steps that read parameters where other values could stand: as addends, factors and states.
#include "tests/support/chains.h"
#include "tests/support/precompiled.h"

namespace dynet_like::testing {
namespace {

Expression weights(Step& step, unsigned i) {
  return parameter(step.graph, step.model.weights44[i]);
}
Expression bias(Step& step) { return parameter(step.graph, step.model.bias4); }

Expression biases_as_addends(Step& step) {
  const Expression gate = sigmoid(weights(step, 0) * step.state + bias(step));
  const Expression other = tanh(bias(step) + weights(step, 1) * cmult(gate, step.before));
  return cmult(gate, other) + bias(step);
}

TEST(ChainsParameters, Addends) { expect_same_chains(biases_as_addends); }

TEST(ChainsParameters, AddendsInDoublePrecision) {
  expect_same_chains(biases_as_addends, DType::f64);
}

TEST(ChainsParameters, AddendsOfLongChains) {
  const RandomModel model;
  expect_same_in_all_modes(chain_program(model, biases_as_addends, 30));
}

// Several readers, some of which leave their contributions to their kernels.
TEST(ChainsParameters, FactorsAndAddends) {
  expect_same_chains([](Step& step) {
    const Expression a = tanh(weights(step, 0) * step.state + bias(step));
    const Expression b = cmult(a, bias(step)) - bias(step);
    return cmult(sigmoid(b), bias(step)) + cmult(bias(step), a);
  });
}

// One value that is a matrix of a product, an addend of it, and an operand.
TEST(ChainsParameters, BiasesOfProductsThatAreAddendsToo) {
  expect_same_chains([](Step& step) {
    const Expression a = affine_transform({bias(step), weights(step, 0), step.state});
    const Expression b = affine_transform(
        {bias(step), weights(step, 1), tanh(a + bias(step)), weights(step, 2), bias(step)});
    return tanh(b) + bias(step);
  });
}

TEST(ChainsParameters, MatricesAsOperands) {
  expect_same_chains([](Step& step) {
    const Expression w = weights(step, 0);
    const Expression outer = reshape(step.state, {4, 1}) * reshape(step.before, {1, 4});
    return tanh((cmult(w, outer) + w) * step.state + w * step.before);
  });
}

TEST(ChainsParameters, PartsAndFunctionsOfParameters) {
  expect_same_chains([](Step& step) {
    const Expression all = parameter(step.graph, step.model.w74);
    const Expression row = reshape(pick_range(all, step.variant, step.variant + 1), {4});
    const Expression gate = sigmoid(weights(step, 0) * step.state + row);
    return cmult(gate, exp(bias(step))) + cmult(row, tanh(gate)) + softmax(bias(step));
  });
}

// A parameter in some steps, in others values of the sample, of which one is not wanted.
TEST(ChainsParameters, InPlacesOfOtherValues) {
  expect_same_chains([](Step& step) {
    const Expression places[] = {step.before,
                                 bias(step),
                                 step.fixed,
                                 tanh(bias(step)),
                                 nobackprop(bias(step)),
                                 const_parameter(step.graph, step.model.bias4),
                                 step.state};
    const Expression x = places[step.variant];
    return cmult(tanh(weights(step, 0) * step.state + x), sigmoid(x)) + x;
  });
}

// Other losses contribute to the same parameter in between.
TEST(ChainsParameters, OthersBetween) {
  expect_same_chains([](Step& step) {
    // Some of them have several items.
    const auto loose = [&](const Expression& x) { return x - bias(step); };
    const std::vector<unsigned> rows = {2, 5, 1};
    const Expression several = lookup(step.graph, step.model.table4, rows);
    step.losses.push_back(sum_elems(sum_batches(loose(several))));
    const Expression a = tanh(weights(step, 0) * step.state + bias(step));
    const Expression other = step.variant > 1 ? loose(step.before) : step.before;
    const Expression h = cmult(sigmoid(weights(step, 1) * a + bias(step)), bias(step));
    step.losses.push_back(sum_elems(cmult(other, step.fixed)));
    return h;
  });
}

// Chains that begin with a parameter.
TEST(ChainsParameters, InitialStates) {
  const RandomModel model;
  expect_same_in_all_modes({model.collection,
                            [&](ComputationGraph& graph, unsigned sample) {
                              std::vector<Expression> states, losses;
                              for (unsigned chain = 0; chain < 4; ++chain) {
                                Expression h = parameter(graph, model.bias4), c = h;
                                for (unsigned i = 0; i < 4; ++i) {
                                  const Expression x =
                                      lookup(graph, model.table4, (sample + i) % 9);
                                  const Expression w = parameter(graph, model.weights44[0]);
                                  const Expression gate = sigmoid(w * h + x);
                                  c = cmult(c, gate) + cmult(c, tanh(h));
                                  h = tanh(c);
                                  states.insert(states.end(), {x, c, h});
                                }
                                losses.push_back(sum_elems(h));
                              }
                              return Sample{sum(losses), states};
                            },
                            6, false, true});
}

}  // namespace
}  // namespace dynet_like::testing
