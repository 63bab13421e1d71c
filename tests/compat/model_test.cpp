// <dynet/model.h>, <dynet/param-init.h>, <dynet/weight-decay.h>: parameters, how they begin, their
// gradients, collections.
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/model.h>
#include <dynet/nodes.h>
#include <dynet/param-init.h>
#include <dynet/weight-decay.h>

#include "dynet_like/core/errors.h"
#include "nn/linear.h"
#include "tests/support/precompiled.h"

namespace dynet {
class ParameterCollection;  // programs declare DyNet's classes ahead
class ComputationGraph;
class Model;
struct ParameterInit;
}  // namespace dynet

namespace {

using namespace dynet;
using Floats = std::vector<float>;

// One backward pass that gives p the gradient {1, 2} and row 1 of the table {3}.
void run(const Parameter& p, const LookupParameter& t) {
  ComputationGraph graph;
  const Expression loss =
      dot_product(parameter(graph, p), input(graph, {2}, {1, 2})) + lookup(graph, t, 1) * 3.0f;
  graph.backward(loss);
}

class CompatModelTest : public ::testing::Test {
 protected:
  ParameterCollection model_{0.0f};
  Parameter p_ = model_.add_parameters({2}, ParameterInitFromVector({3, 4}), "p");
  LookupParameter t_ =
      model_.add_lookup_parameters(3, {1}, ParameterInitFromVector({5, 6, 7}), "t");
};

TEST_F(CompatModelTest, ParametersAreMadeInEveryWay) {
  ParameterCollection model;
  EXPECT_EQ(model.add_parameters({2, 3}).dim(), Dim({2, 3}));
  for (const float x : as_vector(*model.add_parameters({50}, 0.01f, "small").values())) {
    EXPECT_LE(std::abs(x), 0.01f);
  }
  EXPECT_EQ(model.add_parameters({2}, default_device).get_fullname(), "/_1");
  EXPECT_EQ(model.add_parameters({2}, "W").get_fullname(), "/W");
  EXPECT_EQ(model.add_parameters({2}, ParameterInitConst(1), "W").get_fullname(), "/W_1");
  EXPECT_EQ(model.add_lookup_parameters(4, {2}, "E").get_fullname(), "/E");
  EXPECT_EQ(model.add_lookup_parameters(4, {2}, ParameterInitConst(2)).dim(), Dim({2}));
  EXPECT_EQ(model.parameters_list().size(), 5u);
  EXPECT_EQ(model.get_parameter_storages().size(), 5u);
  EXPECT_EQ(model.lookup_parameters_list().size(), 2u);
  EXPECT_EQ(model.get_lookup_parameter_storages().size(), 2u);
  EXPECT_EQ(model.get_parameter_storages_base().size(), 7u);
  EXPECT_EQ(model.size(), 7u);
  EXPECT_EQ(model.parameter_count(), 6u + 50 + 2 + 2 + 2 + 8 + 8);
  EXPECT_EQ(model.get_parameter_storage("/W_1")->values.v[1], 1.0f);
  EXPECT_EQ(model.get_lookup_parameter_storage("/_2")->all_values.v[7], 2.0f);
  EXPECT_THROW(model.get_parameter_storage("/E"), dynet_like::UsageError);
}

TEST_F(CompatModelTest, SubcollectionsShareTheParameters) {
  ParameterCollection sub = model_.add_subcollection("lstm", 0.5f);
  const Parameter w = sub.add_parameters({2});
  EXPECT_EQ(sub.get_fullname(), "/lstm/");
  EXPECT_EQ(w.get_fullname(), "/lstm/_0");
  EXPECT_EQ(sub.parameters_list().size(), 1u);
  EXPECT_EQ(model_.parameters_list().size(), 2u);
  EXPECT_EQ(model_.parameters_list()[1], sub.parameters_list()[0]);
  EXPECT_EQ(w.p->owner, &sub);
  EXPECT_EQ(sub.get_weight_decay_lambda(), 0.5f);
  sub.set_weight_decay_lambda(0.25f);
  EXPECT_EQ(sub.get_weight_decay().get_lambda(), 0.25f);
  EXPECT_EQ(model_.add_subcollection().get_weight_decay_lambda(), 0.0f);
  // A layer of the library is as good as a builder.
  const dynet_like::nn::Linear linear(model_, 2, 1);
  EXPECT_EQ(model_.parameters_list().size(), 4u);
  Model old_name;
  EXPECT_EQ(old_name.add_parameters({1}).get_fullname(), "/_0");
}

TEST_F(CompatModelTest, ValuesAndGradientsAreAtHand) {
  EXPECT_EQ(as_vector(*p_.values()), (Floats{3, 4}));
  p_.values()->v[0] = 9;
  EXPECT_EQ(p_.p->values.v[0], 9);
  p_.set_value({1, 2});
  EXPECT_EQ(as_vector(*p_.values()), (Floats{1, 2}));
  EXPECT_EQ(as_vector(*p_.gradients()), (Floats{0, 0}));
  run(p_, t_);
  EXPECT_EQ(as_vector(*p_.gradients()), (Floats{1, 2}));
  p_.gradients()->v[1] = 5;
  p_.scale_gradient(2);
  EXPECT_EQ(as_vector(p_.p->g), (Floats{2, 10}));
  EXPECT_TRUE(p_.p->nonzero_grad);
  p_.scale(3);
  EXPECT_EQ(as_vector(*p_.values()), (Floats{3, 6}));
  p_.clip_inplace(4, 5);
  EXPECT_EQ(as_vector(*p_.values()), (Floats{4, 5}));
  p_.zero();
  EXPECT_EQ(as_vector(*p_.values()), (Floats{0, 0}));
  EXPECT_EQ(p_.current_weight_decay(), 1);
  EXPECT_EQ(p_.dim(), Dim({2}));
  EXPECT_EQ(p_.get_storage().dim, Dim({2}));
  p_.set_updated(false);
  EXPECT_FALSE(p_.is_updated());
  EXPECT_FALSE(p_.p->updated);
  p_.p->updated = true;
  EXPECT_TRUE(p_.is_updated());
  EXPECT_THROW(Parameter().values(), dynet_like::UsageError);
  EXPECT_EQ(Parameter(model_.parameters_list()[0]).get_fullname(), "/p");
}

TEST_F(CompatModelTest, TablesAreAtHand) {
  EXPECT_EQ((*t_.values())[2].v[0], 7);
  t_.initialize(2, {8});
  EXPECT_EQ(t_.p->values[2].v[0], 8);
  EXPECT_EQ(as_vector(t_.p->all_values), (Floats{5, 6, 8}));
  EXPECT_EQ(t_.p->all_dim, Dim({1, 3}));
  EXPECT_EQ(t_.p->dim, Dim({1}));
  EXPECT_TRUE(t_.p->non_zero_grads.empty());
  run(p_, t_);
  EXPECT_EQ(t_.p->non_zero_grads, std::unordered_set<unsigned>{1});
  EXPECT_EQ(t_.p->grads.size(), 3u);
  EXPECT_EQ(t_.p->grads[1].v[0], 3);
  EXPECT_EQ(t_.p->grads[0].v[0], 0);
  EXPECT_EQ(as_vector(Tensor(t_.p->all_grads)), (Floats{0, 3, 0}));
  t_.p->initialize_lookups();
  t_.scale_gradient(2);
  EXPECT_EQ(t_.p->grads[1].v[0], 6);
  t_.scale(2);
  EXPECT_EQ(as_vector(t_.p->all_values), (Floats{10, 12, 16}));
  t_.zero();
  EXPECT_EQ(as_vector(t_.p->all_values), (Floats{0, 0, 0}));
  EXPECT_EQ(t_.current_weight_decay(), 1);
  t_.set_updated(false);
  EXPECT_FALSE(t_.is_updated());
  EXPECT_THROW(LookupParameter().get_storage(), dynet_like::UsageError);
  EXPECT_EQ(LookupParameter(model_.lookup_parameters_list()[0]).get_fullname(), "/t");
}

TEST_F(CompatModelTest, StoragesOfParameters) {
  ParameterStorage& storage = *p_.p;
  Floats gradient = {1, 1};
  storage.accumulate_grad(Tensor(Dim({2}), gradient.data()));
  storage.accumulate_grad(Tensor(Dim({2}), gradient.data()));
  float norm = 0;
  storage.g_squared_l2norm(&norm);
  EXPECT_EQ(norm, 8);
  storage.squared_l2norm(&norm);
  EXPECT_EQ(norm, 25);
  EXPECT_TRUE(storage.has_grad());
  storage.clear();
  EXPECT_FALSE(storage.has_grad());
  storage.scale_gradient(2);
  EXPECT_FALSE(storage.has_grad());
  storage.scale_parameters(2);
  EXPECT_EQ(as_vector(*p_.values()), (Floats{6, 8}));
  storage.clip(0, 7);
  EXPECT_EQ(as_vector(*p_.values()), (Floats{6, 7}));
  storage.set_value({1, 2});
  const Parameter other = model_.add_parameters({2});
  other.p->copy(storage);
  EXPECT_EQ(as_vector(*other.values()), (Floats{1, 2}));
  storage.zero();
  EXPECT_EQ(as_vector(*p_.values()), (Floats{0, 0}));
  EXPECT_EQ(storage.size(), 2u);
  EXPECT_TRUE(storage.is_updated());
  EXPECT_EQ(storage.name, "/p");
  EXPECT_THROW(storage.copy(*model_.add_parameters({3}).p), dynet_like::ShapeError);
  EXPECT_THROW(storage.set_value({1}), dynet_like::ShapeError);
}

TEST_F(CompatModelTest, StoragesOfTables) {
  LookupParameterStorage& storage = *t_.p;
  Floats gradient = {1, 2, 3};
  storage.accumulate_grad(2, Tensor(Dim({1}), gradient.data()));
  EXPECT_EQ(storage.grads[2].v[0], 1);
  storage.accumulate_grad(Tensor(Dim({1, 3}), gradient.data()));
  EXPECT_EQ(storage.grads[2].v[0], 4);
  const unsigned rows[] = {0, 0};
  storage.accumulate_grads(2, rows, nullptr, gradient.data());
  EXPECT_EQ(storage.grads[0].v[0], 4);
  float norm = 0;
  storage.g_squared_l2norm(&norm);
  EXPECT_EQ(norm, 16 + 4 + 16);
  const unsigned too_large = 3;
  EXPECT_THROW(storage.accumulate_grads(1, &too_large, nullptr, gradient.data()),
               dynet_like::UsageError);
  storage.scale_gradient(0.5f);
  EXPECT_EQ(storage.grads[0].v[0], 2);
  EXPECT_TRUE(storage.has_grad());
  storage.clear();
  EXPECT_FALSE(storage.has_grad());
  storage.initialize(0, {1});
  const LookupParameter other = model_.add_lookup_parameters(3, {1});
  other.p->copy(storage);
  EXPECT_EQ(as_vector(other.p->all_values), (Floats{1, 6, 7}));
  storage.scale_parameters(2);
  storage.squared_l2norm(&norm);
  EXPECT_EQ(norm, 4 + 144 + 196);
  storage.zero();
  EXPECT_EQ(as_vector(t_.p->all_values), (Floats{0, 0, 0}));
  EXPECT_EQ(storage.size(), 3u);
  EXPECT_TRUE(storage.is_updated());
}

TEST_F(CompatModelTest, NormsAndUpdates) {
  run(p_, t_);
  EXPECT_NEAR(model_.gradient_l2_norm(), std::sqrt(1.0f + 4 + 9), 1e-6);
  EXPECT_NEAR(model_.get_storage().gradient_l2_norm(), std::sqrt(14.0f), 1e-6);
  model_.reset_gradient();
  EXPECT_EQ(model_.gradient_l2_norm(), 0);
  model_.project_weights(1.0f);
  EXPECT_NEAR(p_.values()->v[0], 0.6f, 1e-6);
  EXPECT_NEAR((*t_.values())[0].v[0], 5 / std::sqrt(110.0f), 1e-6);
  EXPECT_EQ(model_.updated_parameter_count(), 5u);
  model_.set_updated_param(&p_, false);
  EXPECT_FALSE(model_.is_updated_param(&p_));
  EXPECT_EQ(model_.updated_parameter_count(), 3u);
  model_.set_updated_lookup_param(&t_, false);
  EXPECT_FALSE(model_.is_updated_lookup_param(&t_));
  EXPECT_EQ(model_.get_storage().all_params.size(), 2u);
}

// Lists of storages and pointers that were kept are the parameters, too.
TEST_F(CompatModelTest, WhatWasHandedOutFollows) {
  const unsigned n = 64;
  const Parameter w = model_.add_parameters({n, n}, ParameterInitConst(1));
  ComputationGraph graph;
  const Expression x = constant(graph, {n, n}, 0.001f);
  const Expression y = sum_elems(parameter(graph, w) * x);
  EXPECT_NEAR(as_scalar(graph.forward(y)), 0.064f * n * n, 0.1f);
  for (const auto& storage : model_.parameters_list()) {
    TensorTools::set_elements(storage->values, Floats(storage->size(), 2));
    EXPECT_EQ(storage->g.v[0], 0) << storage->name;
  }
  EXPECT_NEAR(as_scalar(graph.forward(y)), 0.128f * n * n, 0.2f);
  EXPECT_EQ(model_.lookup_parameters_list()[0]->values.size(), 3u);
  EXPECT_EQ(model_.get_parameter_storages_base().size(), 3u);

  const Tensor* const g = p_.gradients();
  const LookupParameterStorage& table = t_.get_storage();
  run(p_, t_);
  EXPECT_EQ(as_vector(*g), (Floats{1, 2}));
  EXPECT_EQ(table.non_zero_grads.size(), 1u);
  model_.reset_gradient();
  EXPECT_EQ(as_vector(*g), (Floats{0, 0}));
  EXPECT_TRUE(table.non_zero_grads.empty());
}

// What is written through a handle is what the next run reads.
TEST_F(CompatModelTest, RunsReadWhatWasWritten) {
  ComputationGraph graph;
  const Expression y = sum_elems(parameter(graph, p_)) + lookup(graph, t_, 0);
  EXPECT_EQ(as_scalar(graph.forward(y)), 12);
  p_.p->values.v[0] = 10;
  t_.p->values[0].v[0] = 20;
  EXPECT_EQ(as_scalar(graph.forward(y)), 34);
}

// Programs treat `p` as the shared_ptr that it is in DyNet.
TEST_F(CompatModelTest, StoragesAreSharedAndReplaced) {
  std::shared_ptr<ParameterStorage> storage = p_.p;
  EXPECT_TRUE(p_.p != nullptr && p_.p && storage != nullptr);
  EXPECT_GT(p_.p.use_count(), 1);
  Parameter other;
  EXPECT_TRUE(other.p == nullptr);
  other.p = storage;
  EXPECT_TRUE(other.p == p_.p);
  EXPECT_EQ(other.get_fullname(), "/p");
  EXPECT_EQ(other.dim(), Dim({2}));
  {
    ComputationGraph graph;
    EXPECT_EQ(as_vector(parameter(graph, other).value()), (Floats{3, 4}));
    const Parameter copy = other;
    EXPECT_EQ(as_vector(parameter(graph, copy).value()), (Floats{3, 4}));
    other.p = model_.add_parameters({1}, ParameterInitConst(9)).p;
    EXPECT_EQ(as_vector(parameter(graph, other).value()), (Floats{9}));
    EXPECT_EQ(as_vector(parameter(graph, copy).value()), (Floats{3, 4}));
  }
  other.p.reset();
  EXPECT_THROW(other.get_storage(), std::invalid_argument);
  other = p_;
  other.p = nullptr;
  EXPECT_THROW(other.dim(), std::invalid_argument);
  LookupParameter table;
  table.p = model_.get_lookup_parameter_storage("/t");
  EXPECT_EQ(table.get_fullname(), "/t");
  table.p.reset();
  EXPECT_EQ(t_.get_fullname(), "/t");
}

// Views of a storage stay what they are while the program holds it, whatever becomes of its
// collection and of the handles.
TEST(CompatStorageTest, OutlivesItsCollection) {
  std::shared_ptr<ParameterStorage> storage;
  {
    ParameterCollection gone;
    storage = gone.add_parameters({2}, ParameterInitFromVector({1, 2})).p;
  }
  EXPECT_EQ(as_vector(storage->values), (Floats{1, 2}));
  const Parameter p(storage);
  ComputationGraph graph;
  EXPECT_EQ(as_vector(parameter(graph, p).value()), (Floats{1, 2}));
}

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
