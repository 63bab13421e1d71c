// The models written for DyNet's headers compute the same bits as those of bench/models.
#include "bench/dynet_style/models.h"

#include <gtest/gtest.h>

#include <cstring>

#include "bench/models/models.h"

namespace dynet_like::bench {
namespace {

class OpByOpTest : public ::testing::TestWithParam<DyNetModelKind> {};

TEST_P(OpByOpTest, LossAndGradientsAreTheSame) {
  const unsigned hidden = 12;
  const auto ours = make_model(GetParam().name, hidden, Form::ops);
  const auto theirs = GetParam().make(hidden);
  for (const auto& to : theirs->model.storages()) {
    const auto from = ours->parameters().find(to->name);
    ASSERT_NE(from, nullptr) << to->name;
    ASSERT_EQ(from->dim, to->dim) << to->name;
    std::memcpy(to->tensor().data(), from->tensor().data(), from->size() * sizeof(float));
    to->values_written();
  }
  EXPECT_EQ(theirs->model.size(), ours->parameters().size());
  for (unsigned i = 0; i < 3; ++i) {
    ComputationGraph graph;
    const Expression loss = ours->loss(graph, i);
    const Gradients& gradients = graph.backward(loss);
    dynet::ComputationGraph cg;
    const dynet::Expression same = theirs->loss(cg, i);
    EXPECT_EQ(as_scalar(cg.forward(same)), as_scalar(loss.value()));
    cg.backward(same);
    for (const auto& mine : theirs->model.parameters_list()) {
      mine->hand_out();
      const Parameter other(ours->parameters().find(mine->name));
      EXPECT_EQ(as_vector(mine->g), gradients.values(other)) << mine->name;
    }
    theirs->model.reset_gradient();
    EXPECT_EQ(theirs->words(i), ours->words(i));
  }
}

std::vector<DyNetModelKind> models_op_by_op() {
  std::vector<DyNetModelKind> models = all_dynet_models();
  std::erase_if(models, [](const DyNetModelKind& kind) { return !kind.op_by_op; });
  return models;
}

INSTANTIATE_TEST_SUITE_P(All, OpByOpTest, ::testing::ValuesIn(models_op_by_op()),
                         [](const auto& info) { return std::string(info.param.name); });

/// VanillaLSTMBuilder's gates have the order i, f, o, g, those of nn::LSTM f, i, o, u; and the
/// builder adds 1 to the bias of the forget gate itself.
void take_gates(const ParameterStorage& from, ParameterStorage& to) {
  constexpr unsigned kPlace[] = {1, 0, 2, 3};
  const Tensor source = from.tensor(), target = to.tensor();
  const unsigned rows = from.dim.rows(), hidden = rows / 4;
  for (unsigned i = 0; i < from.size(); ++i) {
    const unsigned gate = i % rows / hidden;
    const double value = source.at(i - gate * hidden + kPlace[gate] * hidden);
    target.set(i, from.dim.nd == 1 && gate == 1 ? value - 1 : value);
  }
}

TEST(BuildersTest, TaggerIsTheOneWithLayers) {
  const auto ours = make_model("tagger", 12, Form::fused);
  const auto theirs = dynet_model("tagger_with_builders").make(12);
  const auto &from = ours->parameters().storages(), &to = theirs->model.storages();
  ASSERT_EQ(from.size(), to.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    ASSERT_EQ(from[i]->dim, to[i]->dim) << from[i]->name << " and " << to[i]->name;
    if (to[i]->name.starts_with("/vanilla-lstm-builder")) {
      take_gates(*from[i], *to[i]);
    } else {
      std::memcpy(to[i]->tensor().data(), from[i]->tensor().data(),
                  from[i]->size() * sizeof(float));
    }
    to[i]->values_written();
  }
  ComputationGraph graph;
  const Expression loss = ours->loss(graph, 0);
  const Gradients& gradients = graph.backward(loss);
  dynet::ComputationGraph cg;
  const dynet::Expression same = theirs->loss(cg, 0);
  EXPECT_NEAR(as_scalar(cg.forward(same)), as_scalar(loss.value()), 1e-4);
  cg.backward(same);
  double norm = 0;
  for (const auto& mine : theirs->model.parameters_list()) {
    mine->hand_out();
    for (const float g : as_vector(mine->g)) norm += static_cast<double>(g) * g;
  }
  double expected = 0;
  for (const auto& storage : from) {
    if (storage->is_table) continue;
    for (const float g : gradients.values(Parameter(storage))) {
      expected += static_cast<double>(g) * g;
    }
  }
  EXPECT_NEAR(norm / expected, 1, 1e-6);
}

TEST(BuildersTest, SentencesAreBatched) {
  const auto tagger = dynet_model("tagger_with_builders").make(12);
  const auto batches = [&](unsigned sentences) {
    dynet::ComputationGraph cg;
    std::vector<dynet::Expression> losses;
    for (unsigned i = 0; i < sentences; ++i) losses.push_back(tagger->loss(cg, i));
    cg.forward(dynet::sum(losses));
    return cg.explain().batches;
  };
  EXPECT_LT(batches(16), 2 * batches(1));
}

}  // namespace
}  // namespace dynet_like::bench
