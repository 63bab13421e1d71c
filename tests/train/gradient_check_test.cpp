// check_gradients: right gradients are right to many digits, wrong ones are found and named.
#include <set>

#include "dynet_like/train/gradient_check.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

struct Model {
  explicit Model(DType dtype) : parameters(3, dtype) {}

  Expression loss(ComputationGraph& graph) const {
    const Expression x = lookup(graph, table, 2), y = lookup(graph, table, 0);
    const auto state = lstm.step(lstm.step(lstm.start(graph), x), y);
    return cross_entropy(parameter(graph, w) * state.h, 1) + squared_norm(x);
  }
  std::vector<double> values() const {
    std::vector<double> all;
    for (const auto& storage : parameters.storages()) {
      const std::vector<double> some = as_doubles(storage->tensor());
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  ParameterCollection parameters;
  LookupParameter table = parameters.add_lookup_parameters(4, {3}, "words");
  nn::LSTM lstm{parameters, 3, 2};
  Parameter w = parameters.add_parameters({3, 2}, "w"), unread = parameters.add_parameters({5});
};

TEST(GradientCheckTest, RightGradientsInDoubles) {
  const Model model(DType::f64);
  const std::vector<double> before = model.values();
  std::size_t compared = 0;
  std::set<std::string> names;
  const GradientDifference worst = check_gradients(
      model.parameters, [&](ComputationGraph& graph) { return model.loss(graph); },
      [&](const GradientDifference& here) {
        ++compared;
        names.insert(here.parameter);
        EXPECT_NEAR(here.slope, here.gradient, 1e-7) << here.parameter << ' ' << here.element;
      });
  EXPECT_LT(worst.error(), 1e-7) << worst.parameter;
  EXPECT_GT(worst.error(), 0);
  EXPECT_EQ(model.values(), before);
  std::size_t expected = 2 * 3 + 3 * 2;  // two rows, w and the LSTM
  for (const auto& storage : model.parameters.storages()) {
    if (storage->name.find("lstm") != std::string::npos) expected += storage->size();
  }
  EXPECT_GE(compared, expected);
  EXPECT_TRUE(names.contains("/w") && names.contains("/words row 0") &&
              names.contains("/words row 2"));
  EXPECT_FALSE(names.contains("/words row 1") || names.contains("/_0"));
}

TEST(GradientCheckTest, RightGradientsInFloats) {
  const Model model(DType::f32);
  EXPECT_LT(
      check_gradients(model.parameters, [&](ComputationGraph& graph) { return model.loss(graph); })
          .error(),
      1e-2);
}

TEST(GradientCheckTest, AWrongGradientIsFound) {
  const Model model(DType::f64);
  const GradientDifference worst = check_gradients(model.parameters, [&](ComputationGraph& graph) {
    return model.loss(graph) +
           sum_elems(scale_gradient(pick(parameter(graph, model.w), 1u, 1), 1.5f));
  });
  EXPECT_EQ(worst.parameter, "/w");
  EXPECT_GE(worst.element, 3u);  // of column 1
  EXPECT_NEAR(worst.gradient - worst.slope, 0.5, 1e-6);
}

TEST(GradientCheckTest, NotANumberIsTheWorst) {
  ParameterCollection model(1, DType::f64);
  const Parameter w = model.add_parameters({2}, ParameterInitConst(1));
  const Parameter zero = model.add_parameters({1}, ParameterInitConst(0), "zero");
  const GradientDifference worst = check_gradients(model, [&](ComputationGraph& graph) {
    return sum_elems(parameter(graph, w)) + sqrt(parameter(graph, zero));
  });
  EXPECT_EQ(worst.parameter, "/zero");
  EXPECT_TRUE(std::isnan(worst.error()));
}

TEST(GradientCheckTest, OfNoParametersThereIsNothing) {
  ParameterCollection model;
  model.add_parameters({2});
  const GradientDifference worst =
      check_gradients(model, [](ComputationGraph& graph) { return input(graph, {1}, {1}); });
  EXPECT_EQ(worst.parameter, "");
  EXPECT_EQ(worst.error(), 0);
}

}  // namespace
}  // namespace dynet_like
