// BidirectionalLSTM: the same bits as its composition by hand, gradients, shapes, batches, errors.
#include "nn/bidirectional.h"

#include <gtest/gtest.h>

#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "tests/support/layers.h"

namespace dynet_like::nn {
namespace {

constexpr unsigned kInputs = 3, kHidden = 4;

/// A sentence of some rows of a table.
std::vector<Expression> sentence(ComputationGraph& graph, const Embedding& table, unsigned length) {
  std::vector<Expression> xs;
  for (unsigned i = 0; i < length; ++i) xs.push_back(table(graph, i));
  return xs;
}

/// LSTMs with the parameters of a layer of `model`, which were made before.
struct ByHand {
  ByHand(ParameterCollection& like, unsigned inputs, const std::string& suffix)
      : forward(model, inputs, kHidden), backward(model, inputs, kHidden) {
    for (const char* parameter : {"W", "U", "b"}) {
      copy(like, "/bidirectional_lstm/forward" + suffix + "/" + parameter,
           std::string("/lstm/") + parameter);
      copy(like, "/bidirectional_lstm/backward" + suffix + "/" + parameter,
           std::string("/lstm_1/") + parameter);
    }
  }

  void copy(const ParameterCollection& like, const std::string& from, const std::string& to) {
    ASSERT_NE(like.find(from), nullptr) << from;
    Parameter(model.find(to)).set_value(as_vector(like.find(from)->tensor()));
  }

  std::vector<Expression> read(ComputationGraph& graph, const std::vector<Expression>& xs) const {
    std::vector<Expression> both(xs.size());
    LSTM::State state = forward.start(graph);
    for (std::size_t i = 0; i < xs.size(); ++i) {
      state = forward.step(state, xs[i]);
      both[i] = state.h;
    }
    state = backward.start(graph);
    for (std::size_t i = xs.size(); i-- > 0;) {
      state = backward.step(state, xs[i]);
      both[i] = concatenate({both[i], state.h});
    }
    return both;
  }

  ParameterCollection model;
  LSTM forward, backward;
};

TEST(BidirectionalLSTMTest, HasTheBitsOfTwoLSTMsPerLayer) {
  ParameterCollection model;
  const BidirectionalLSTM bilstm(model, kInputs, kHidden, {.layers = 2});
  const Embedding inputs(model, 5, kInputs);
  randomise(model, 2);
  const ByHand first(model, kInputs, ""), second(model, 2 * kHidden, "_1");
  for (const unsigned length : {1u, 2u, 5u}) {
    ComputationGraph graph;
    const std::vector<Expression> xs = sentence(graph, inputs, length);
    const std::vector<Expression> got = bilstm(xs);
    const std::vector<Expression> expected = second.read(graph, first.read(graph, xs));
    ASSERT_EQ(got.size(), length);
    for (unsigned i = 0; i < length; ++i) {
      EXPECT_EQ(got[i].dim(), Dim({2 * kHidden}));
      EXPECT_EQ(as_vector(got[i].value()), as_vector(expected[i].value())) << i;
    }
    const std::vector<float> summary = as_vector(bilstm.final_states(xs).value());
    EXPECT_EQ(as_vector(bilstm.final_states(concatenate_cols(xs)).value()), summary);
    const std::vector<float> last = as_vector(expected.back().value()),
                             front = as_vector(expected.front().value());
    std::vector<float> ends(last.begin(), last.begin() + kHidden);
    ends.insert(ends.end(), front.begin() + kHidden, front.end());
    EXPECT_EQ(summary, ends);
  }
}

TEST(BidirectionalGRUTest, HasTheBitsOfTwoGRUs) {
  ParameterCollection model(3), same(3);
  const BidirectionalGRU bigru(model, kInputs, kHidden);
  EXPECT_NE(model.find("/bidirectional_gru/backward/W"), nullptr);
  const GRU forward(same, kInputs, kHidden), backward(same, kInputs, kHidden);
  const Embedding inputs(model, 5, kInputs);
  ComputationGraph graph;
  const std::vector<Expression> xs = sentence(graph, inputs, 4);
  const std::vector<Expression> reversed(xs.rbegin(), xs.rend());
  const std::vector<Expression> got = bigru(xs), left = forward(xs), right = backward(reversed);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(as_vector(got[i].value()), as_vector(concatenate({left[i], right[3 - i]}).value()));
  }
  EXPECT_EQ(as_vector(bigru.final_states(xs).value()),
            as_vector(concatenate({left[3], right[3]}).value()));
}

TEST(BidirectionalLSTMTest, DropoutIsBetweenLayersAndInTraining) {
  ParameterCollection model;
  const BidirectionalLSTM one(model, kInputs, kHidden, {.dropout = 0.5f}),
      two(model, kInputs, kHidden, {.layers = 2, .dropout = 0.5f});
  const Embedding inputs(model, 3, kInputs);
  ComputationGraph training({.seed = 1}), inference({.inference = true});
  const auto outputs = [&](const BidirectionalLSTM& layers, ComputationGraph& graph) {
    std::vector<float> all;
    for (const Expression& h : layers(sentence(graph, inputs, 3))) {
      const std::vector<float> values = as_vector(h.value());
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  EXPECT_EQ(outputs(one, training), outputs(one, inference));
  EXPECT_EQ(outputs(two, inference), outputs(two, inference));
  EXPECT_NE(outputs(two, training), outputs(two, inference));
  const auto summary = [&](const BidirectionalLSTM& layers, ComputationGraph& graph) {
    return as_vector(layers.final_states(sentence(graph, inputs, 3)).value());
  };
  EXPECT_EQ(summary(one, training), summary(one, inference));
  EXPECT_NE(summary(two, training), summary(two, inference));
}

TEST(BidirectionalLSTMTest, SentencesOfAllLengthsBatch) {
  ParameterCollection model;
  const BidirectionalLSTM bilstm(model, kInputs, kHidden, {.layers = 2});
  const Embedding inputs(model, 6, kInputs);
  Minibatch minibatch;
  std::vector<std::vector<Expression>> batched;
  for (unsigned length = 1; length <= 6; ++length) {
    ComputationGraph& graph = minibatch.new_graph();
    batched.push_back(bilstm(sentence(graph, inputs, length)));
    for (const Expression& h : batched.back()) minibatch.add_output(h);
  }
  minibatch.forward();
  const Report report = minibatch.explain();
  EXPECT_EQ(report.batches, report.bound);
  // Per layer, one batch for each of six steps of either direction and one for all concatenations;
  // and the lookups and the zeros of the first states.
  EXPECT_EQ(report.batches, 2 * (2 * 6 + 1) + 2u);
  for (unsigned length = 1; length <= 6; ++length) {
    ComputationGraph graph;
    const std::vector<Expression> alone = bilstm(sentence(graph, inputs, length));
    for (unsigned i = 0; i < length; ++i) {
      EXPECT_EQ(as_vector(alone[i].value()), as_vector(batched[length - 1][i].value()));
    }
  }
}

TEST(BidirectionalLSTMTest, EmptySequencesAndSizesThatDoNotFit) {
  ParameterCollection model;
  const BidirectionalLSTM bilstm(model, kInputs, kHidden, {.layers = 2});
  EXPECT_EQ(bilstm.hidden(), kHidden);
  EXPECT_EQ(bilstm.outputs(), 2 * kHidden);
  ComputationGraph graph;
  EXPECT_TRUE(bilstm({}).empty());
  EXPECT_THROW(bilstm.final_states({}), UsageError);
  const std::vector<Expression> wrong = {ones(graph, {kInputs + 1})};
  EXPECT_THROW(bilstm(wrong), ShapeError);
  EXPECT_THROW(bilstm.final_states(wrong), ShapeError);
  EXPECT_THROW(BidirectionalLSTM(model, 0, 3), ShapeError);
  EXPECT_THROW(BidirectionalLSTM(model, 3, 0), ShapeError);
  EXPECT_THROW(BidirectionalLSTM(model, 3, 3, {.layers = 0}), UsageError);
}

}  // namespace
}  // namespace dynet_like::nn
