// The models written against DyNet's headers compute what those of bench/models do, bit for bit.
#include "bench/dynet_style/models.h"

#include <gtest/gtest.h>

#include <cstring>

#include "bench/models/models.h"

namespace dynet_like::bench {
namespace {

class DyNetStyleTest : public ::testing::TestWithParam<const char*> {};

TEST_P(DyNetStyleTest, LossAndGradientsAreTheSame) {
  const unsigned hidden = 12;
  const auto ours = make_model(GetParam(), hidden, Form::ops);
  const auto theirs = make_dynet_model(GetParam(), hidden);
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

INSTANTIATE_TEST_SUITE_P(All, DyNetStyleTest,
                         ::testing::Values("tree_lstm", "tagger", "char_tagger"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace dynet_like::bench
