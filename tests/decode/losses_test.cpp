// Teacher forcing: the losses of given actions.
#include "tests/support/precompiled.h"

namespace dynet_like::testing {
namespace {

struct DecoderLosses : ::testing::Test {
  ParameterCollection model{1};
  const nn::Embedding words{model, 7, 4};
  const nn::LSTM lstm{model, 4, 5};
  const nn::Linear output{model, 5, 7};
  ComputationGraph graph;
  nn::Steps<nn::LSTM::State> steps = {
      .scores = [this](const auto& state) { return output(state.h); },
      .advance = [this](const auto& state,
                        unsigned word) { return lstm.step(state, words(graph, word)); }};
};

TEST_F(DecoderLosses, AreThoseOfTheLoopByHand) {
  const std::vector<unsigned> actions = {3, 6, 0, 3};
  const std::vector<Expression> found = nn::losses(lstm.start(graph), steps, actions);
  ASSERT_EQ(found.size(), actions.size());
  nn::LSTM::State state = lstm.start(graph);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    EXPECT_EQ(as_scalar(found[i].value()),
              as_scalar(cross_entropy(output(state.h), actions[i]).value()));
    state = lstm.step(state, words(graph, actions[i]));
  }
  EXPECT_TRUE(nn::losses(lstm.start(graph), steps, {}).empty());
  EXPECT_THROW(nn::losses(lstm.start(graph), steps, {7}), UsageError);
}

TEST_F(DecoderLosses, GiveNoProbabilityToWhatIsForbidden) {
  steps.allowed = [](const auto&) { return std::vector<unsigned>{2, 4}; };
  double sum = 0;
  for (const unsigned action : {2u, 4u}) {
    sum += std::exp(-as_doubles(nn::losses(lstm.start(graph), steps, {action})[0].value())[0]);
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_EQ(as_scalar(nn::losses(lstm.start(graph), steps, {3})[0].value()),
            std::numeric_limits<float>::infinity());
  steps.scores = nullptr;
  EXPECT_THROW(nn::losses(lstm.start(graph), steps, {2}), UsageError);
}

}  // namespace
}  // namespace dynet_like::testing
