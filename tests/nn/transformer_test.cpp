// LayerNorm, TransformerEncoder and positions: formulas, gradients, batching, names, errors.
#include "tests/support/layers.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

// Those of the operations, which tests/ops compares with plain loops.
TEST(NormsTest, FollowTheFormulas) {
  ParameterCollection model(1, DType::f64);
  const LayerNorm norm(model, 5);
  const RMSNorm rms(model, 5), with_epsilon(model, 5, {.epsilon = 0.5f, .name = "other"});
  EXPECT_EQ(numbers(model, "/layer_norm/g"), Doubles(5, 1));
  EXPECT_EQ(numbers(model, "/layer_norm/b"), Doubles(5, 0));
  EXPECT_EQ(numbers(model, "/rms_norm/g"), Doubles(5, 1));
  randomise(model, 2);
  ComputationGraph graph(double_options());
  const auto p = [&](const std::string& name) {
    return parameter(graph, Parameter(model.find(name)));
  };
  const Expression x = drawn_matrix(graph, 5, 3, 1);
  EXPECT_EQ(as_doubles(norm(x).value()),
            as_doubles(layer_norm(x, p("/layer_norm/g"), p("/layer_norm/b")).value()));
  EXPECT_EQ(as_doubles(rms(x).value()), as_doubles(rms_norm(x, p("/rms_norm/g")).value()));
  EXPECT_EQ(as_doubles(with_epsilon(x).value()),
            as_doubles(rms_norm(x, p("/other/g"), 0.5f).value()));
  EXPECT_THROW(norm(ones(graph, {4, 3})), ShapeError);
  EXPECT_THROW(rms(ones(graph, {7, 3})), ShapeError);
  EXPECT_THROW(RMSNorm(model, 5, {.epsilon = -1, .name = "negative"})(x), UsageError);
  EXPECT_THROW(LayerNorm(model, 0), ShapeError);
  EXPECT_THROW(RMSNorm(model, 0), ShapeError);
}

/// Gives parameters below `prefix` the values of those below `name` in another model.
void take_values(const ParameterCollection& to, const std::string& prefix,
                 const ParameterCollection& from, const std::string& name) {
  unsigned taken = 0;
  for (const auto& storage : from.storages()) {
    if (!storage->name.starts_with(name + "/")) continue;
    const auto target = to.find(prefix + storage->name.substr(name.size()));
    ASSERT_NE(target, nullptr) << storage->name;
    Parameter(target).set_value(as_vector(storage->tensor()));
    ++taken;
  }
  ASSERT_GT(taken, 0u) << name;
}

/// A layer put together from its parts, as the papers write it.
TEST(TransformerTest, IsTheCompositionOfItsParts) {
  for (const bool norm_first : {true, false}) {
    ParameterCollection model(3), parts(3);
    const TransformerEncoderLayer layer(model, {.size = 4,
                                                .hidden = 6,
                                                .heads = 2,
                                                .activation = gelu,
                                                .causal = true,
                                                .norm_first = norm_first});
    const MultiHeadAttention attention(parts, 4, {.heads = 2, .causal = true});
    const LayerNorm attention_norm(parts, 4, {.name = "attention_norm"}), network_norm(parts, 4);
    const Linear first(parts, 4, 6, {.name = "first"}), second(parts, 6, 4, {.name = "second"});
    randomise(model, 4);
    take_values(parts, "/attention", model, "/layer/attention");
    take_values(parts, "/attention_norm", model, "/layer/attention_norm");
    take_values(parts, "/layer_norm", model, "/layer/network_norm");
    take_values(parts, "/first", model, "/layer/network/layer_0");
    take_values(parts, "/second", model, "/layer/network/layer_1");
    ComputationGraph graph;
    const Expression x = drawn_matrix(graph, 4, 3, 1);
    Expression expected;
    if (norm_first) {
      const Expression y = x + attention(attention_norm(x));
      expected = y + second(gelu(first(network_norm(y))));
    } else {
      const Expression y = attention_norm(x + attention(x));
      expected = network_norm(y + second(gelu(first(y))));
    }
    EXPECT_EQ(as_vector(layer(x).value()), as_vector(expected.value())) << norm_first;
  }
}

TEST(TransformerTest, LayersAndTheLastNorm) {
  ParameterCollection model;
  const TransformerEncoder first(model, {.size = 4, .hidden = 6, .heads = 2, .layers = 2}),
      last(model, {.size = 4, .hidden = 6, .heads = 2, .norm_first = false, .name = "post"});
  EXPECT_NE(model.find("/transformer/layer_1/network/layer_0/W"), nullptr);
  EXPECT_NE(model.find("/transformer/norm/g"), nullptr);
  EXPECT_THROW(model.find("/post/norm/g"), UsageError);
  ComputationGraph graph;
  const Expression x = drawn_matrix(graph, 4, 3, 1);
  // A norm is the last thing in both, with g 1 and b 0 yet.
  for (const Expression& y : {first(x), last(x)}) {
    for (const float mean : as_vector(mean_dim(y, {0}).value())) EXPECT_NEAR(mean, 0, 1e-5);
    for (const float deviation : as_vector(std_dim(y, {0}).value())) {
      EXPECT_NEAR(deviation, 1, 1e-3);
    }
  }
}

TEST(TransformerTest, CausalColumnsSeeNoLaterOne) {
  ParameterCollection model;
  const TransformerEncoder causal(
      model, {.size = 4, .hidden = 6, .heads = 2, .layers = 2, .causal = true}),
      all(model, {.size = 4, .hidden = 6, .heads = 2, .layers = 2});
  ComputationGraph graph;
  const Expression x = drawn_matrix(graph, 4, 5, 1);
  const Expression beginning = pick_range(x, 0, 3, 1);
  const auto end_of = [&](const TransformerEncoder& encoder, const Expression& e) {
    return as_vector(pick(encoder(e), 2, 1).value());
  };
  const std::vector<float> alone = end_of(causal, beginning), whole = end_of(causal, x);
  for (unsigned i = 0; i < 4; ++i) EXPECT_NEAR(alone[i], whole[i], 1e-5);
  EXPECT_NE(end_of(all, beginning), end_of(all, x));
}

TEST(TransformerTest, NoNodesForDropoutThatDoesNothing) {
  ParameterCollection model;
  const TransformerEncoder with(model,
                                {.size = 4, .hidden = 6, .heads = 2, .layers = 2, .dropout = 0.2f}),
      without(model, {.size = 4, .hidden = 6, .heads = 2, .layers = 2});
  const auto nodes = [](const TransformerEncoder& encoder, bool inference) {
    ComputationGraph graph({.inference = inference});
    encoder(drawn_matrix(graph, 4, 3, 1));
    return graph.size();
  };
  EXPECT_EQ(nodes(with, true), nodes(without, false));
}

TEST(TransformerTest, SizesThatDoNotFit) {
  ParameterCollection model;
  EXPECT_THROW(TransformerEncoder(model, {.size = 4, .hidden = 6, .heads = 3}), ShapeError);
  EXPECT_THROW(TransformerEncoder(model, {.size = 4, .hidden = 0, .heads = 2}), UsageError);
  EXPECT_THROW(TransformerEncoder(model, {.size = 4, .hidden = 6, .heads = 2, .layers = 0}),
               UsageError);
  const TransformerEncoder encoder(model, {.size = 4, .hidden = 6, .heads = 2});
  ComputationGraph graph;
  EXPECT_THROW(encoder(ones(graph, {5, 2})), ShapeError);
}

TEST(PositionsTest, SinesFollowTheFormula) {
  for (const unsigned size : {6u, 5u}) {
    const SinusoidalPositions positions(50, size);
    ComputationGraph graph;
    const Tensor got = positions(zeros(graph, {size, 40}), 10).value();
    for (unsigned j = 0; j < 40; ++j) {
      for (unsigned i = 0; 2 * i < size; ++i) {
        const double angle = (10.0 + j) / std::pow(10000.0, 2.0 * i / size);
        EXPECT_NEAR(got.at(j * size + 2 * i), std::sin(angle), 1e-6);
        if (2 * i + 1 == size) continue;
        EXPECT_NEAR(got.at(j * size + 2 * i + 1), std::cos(angle), 1e-6);
      }
    }
  }
}

TEST(PositionsTest, LearnedVectorsAreAdded) {
  ParameterCollection model;
  const LearnedPositions positions(model, 6, 3);
  const LookupParameter table(model.find("/positions/E"));
  ComputationGraph graph;
  const Expression x = drawn_matrix(graph, 3, 4, 1);
  const std::vector<float> before = as_vector(x.value()), got = as_vector(positions(x, 2).value());
  for (unsigned j = 0; j < 4; ++j) {
    for (unsigned i = 0; i < 3; ++i) {
      EXPECT_EQ(got[3 * j + i], before[3 * j + i] + table.values(2 + j).v[i]);
    }
  }
}

TEST(PositionsTest, APartIsThatOfTheWhole) {
  ParameterCollection model;
  const SinusoidalPositions sines(6, 3);
  const LearnedPositions learned(model, 6, 3);
  ComputationGraph graph;
  const Expression x = drawn_matrix(graph, 3, 6, 1);
  for (unsigned j = 0; j < 6; ++j) {
    const Expression column = pick(x, j, 1);
    EXPECT_EQ(as_vector(sines(column, j).value()), as_vector(pick(sines(x), j, 1).value()));
    EXPECT_EQ(as_vector(learned(column, j).value()), as_vector(pick(learned(x), j, 1).value()));
    EXPECT_EQ(learned(column, j).dim(), Dim({3}));
  }
}

TEST(PositionsTest, Errors) {
  ParameterCollection model;
  const SinusoidalPositions sines(6, 3);
  const LearnedPositions learned(model, 6, 3);
  ComputationGraph graph;
  const auto check = [&](const auto& positions) {
    EXPECT_NO_THROW(positions(zeros(graph, {3, 6})));
    const std::string message = message_of<UsageError>([&] { positions(zeros(graph, {3, 2}), 5); });
    EXPECT_NE(message.find("need columns at the 6 positions that it was made for; got 2 columns "
                           "from position 5 on"),
              std::string::npos)
        << message;
    EXPECT_THROW(positions(zeros(graph, {3, 7})), UsageError);
    EXPECT_THROW(positions(zeros(graph, {3}), ~0u), UsageError);
    EXPECT_THROW(positions(zeros(graph, {4, 2})), ShapeError);
    EXPECT_THROW(positions(zeros(graph, {3, 2, 2})), ShapeError);
  };
  check(sines);
  check(learned);
  EXPECT_THROW(SinusoidalPositions(0, 3), ShapeError);
  EXPECT_THROW(SinusoidalPositions(3, 0), ShapeError);
  EXPECT_THROW(LearnedPositions(model, 0, 3), ShapeError);
}

}  // namespace
}  // namespace dynet_like::nn
