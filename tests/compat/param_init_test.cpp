// <dynet/param-init.h> and <dynet/weight-decay.h>.
#include <dynet/model.h>
#include <dynet/param-init.h>
#include <dynet/weight-decay.h>

#include "dynet_like/core/errors.h"
#include "tests/support/precompiled.h"

namespace {

using namespace dynet;
using Floats = std::vector<float>;

Floats drawn(const ParameterInit& init, const Dim& dim) {
  ParameterCollection model;
  return as_vector(*model.add_parameters(dim, init).values());
}

double mean_square(const Floats& values) {
  double sum = 0;
  for (const float value : values) sum += value * value;
  return sum / static_cast<double>(values.size());
}

TEST(CompatParamInitTest, EveryInitialiser) {
  EXPECT_NEAR(mean_square(drawn(ParameterInitNormal(), {10000})), 1, 0.1);
  EXPECT_NEAR(mean_square(drawn(ParameterInitNormal(2, 4), {10000})), 8, 0.6);
  EXPECT_NEAR(mean_square(drawn(ParameterInitUniform(3), {10000})), 3, 0.2);
  EXPECT_NEAR(mean_square(drawn(ParameterInitUniform(0, 3), {10000})), 3, 0.2);
  EXPECT_EQ(drawn(ParameterInitConst(2), {2}), (Floats{2, 2}));
  EXPECT_EQ(drawn(ParameterInitIdentity(), {2, 2}), (Floats{1, 0, 0, 1}));
  EXPECT_THROW(drawn(ParameterInitIdentity(), {2, 3}), dynet_like::ShapeError);
  EXPECT_NEAR(mean_square(drawn(ParameterInitGlorot(), {100, 100})), 0.01, 1e-3);
  EXPECT_NEAR(mean_square(drawn(ParameterInitGlorot(false, 2), {100, 100})), 0.04, 4e-3);
  EXPECT_NEAR(mean_square(drawn(ParameterInitGlorot(true), {100, 100})), 0.01, 1e-3);
  EXPECT_NEAR(mean_square(drawn(ParameterInitSaxe(), {20, 20})), 0.05, 1e-6);
  EXPECT_NEAR(mean_square(drawn(ParameterInitSaxe(2), {20, 20})), 0.2, 1e-6);
  EXPECT_EQ(drawn(ParameterInitFromVector({1, 2}), {2}), (Floats{1, 2}));
  EXPECT_THROW(drawn(ParameterInitFromVector({1, 2}), {3}), dynet_like::ShapeError);
  const std::string path = testing::TempDir() + "numbers.txt";
  std::ofstream(path) << "1 2.5\n-3\n";
  EXPECT_EQ(drawn(ParameterInitFromFile(path), {3}), (Floats{1, 2.5f, -3}));
  EXPECT_THROW(drawn(ParameterInitFromFile(path), {4}), dynet_like::FileError);
}

struct Halves : ParameterInit {
  void initialize_params(Tensor& values) const override { TensorTools::constant(values, 0.5f); }
};

TEST(CompatParamInitTest, AProgramsOwn) {
  EXPECT_EQ(drawn(Halves(), {2}), (Floats{0.5f, 0.5f}));
  ParameterCollection model;
  EXPECT_EQ(as_vector(model.add_lookup_parameters(2, {1}, Halves()).p->all_values),
            (Floats{0.5f, 0.5f}));
}

TEST(CompatWeightDecayTest, CountsItsFactor) {
  L2WeightDecay decay(0.5f);
  EXPECT_EQ(decay.get_lambda(), 0.5f);
  decay.update_weight_decay();
  EXPECT_EQ(decay.current_weight_decay(), 0.5f);
  EXPECT_FALSE(decay.parameters_need_rescaled());
  decay.update_weight_decay(2);
  EXPECT_EQ(decay.current_weight_decay(), 0.125f);
  EXPECT_TRUE(decay.parameters_need_rescaled());
  decay.reset_weight_decay();
  EXPECT_EQ(decay.current_weight_decay(), 1);
  decay.set_lambda(0);
  decay.update_weight_decay(100);
  EXPECT_EQ(decay.current_weight_decay(), 1);
  EXPECT_EQ(L2WeightDecay().get_lambda(), 1e-6f);
  EXPECT_THROW(decay.set_lambda(1), dynet_like::UsageError);
  EXPECT_THROW(decay.set_lambda(-0.1f), dynet_like::UsageError);
}

}  // namespace
