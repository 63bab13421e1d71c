// Encoders of every family: gradients, bits, limits, and names of parameters.
#include "dynet_like/train/gradient_check.h"
#include "nn/encoders/family.h"
#include "nn/encoders/relative_positions.h"
#include "tests/encoders/small_encoders.h"
#include "tests/support/layers.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"

namespace dynet_like::nn {
namespace {

class EncoderTest : public ::testing::TestWithParam<std::string> {
 protected:
  EncoderConfig config() const { return small_config(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Families, EncoderTest, ::testing::ValuesIn(kFamilies), family_name);

// A loss that has no symmetry.
Expression loss_of(const Expression& y) {
  return cross_entropy(sum_cols(cmult(y, sin(y + 1.0f))), 1);
}

TEST_P(EncoderTest, GradientsAreThoseOfDifferences) {
  if (runs_slowly()) GTEST_SKIP() << "operations are compared everywhere";
  ParameterCollection model(1, DType::f64);
  const Encoder encoder(model, config());
  randomise(model, 5);
  const auto loss = [&](ComputationGraph& graph) {
    return loss_of(encoder(graph, {3, 7, 3, 10, 2}));
  };
  EXPECT_LT(check_gradients(model, loss).error(), 1e-6);
}

TEST_P(EncoderTest, BatchingChangesNoBit) {
  EncoderConfig with_dropout = config();
  for (float* const rate :
       {&with_dropout.embedding_dropout, &with_dropout.attention_dropout,
        &with_dropout.attention_output_dropout, &with_dropout.network_dropout}) {
    *rate = 0.2f;
  }
  for (const EncoderConfig& each : {config(), with_dropout}) {
    ParameterCollection model;
    const Encoder encoder(model, each);
    // What depends on parameters alone is computed once for all samples: distances.
    if (GetParam() == "deberta-v2" || GetParam() == "mpnet") {
      for (const auto& storage : model.storages()) storage->frozen = true;
    }
    const Parameter factor = model.add_parameters({8});
    expect_same_bits_in_batches(model, 9, [&](ComputationGraph& graph, unsigned sample) {
      Ids ids(1 + 4 * sample % 10);
      for (unsigned i = 0; i < ids.size(); ++i) ids[i] = (3 * i + sample) % 11;
      return loss_of(cmult(encoder(graph, ids), parameter(graph, factor)));
    });
  }
}

TEST_P(EncoderTest, LayersEndWithTheOutput) {
  ParameterCollection model;
  const Encoder encoder(model, config());
  ComputationGraph graph;
  const std::vector<Expression> layers = encoder.layers(graph, {1, 2, 3});
  ASSERT_EQ(layers.size(), 3u);
  for (const Expression& layer : layers) EXPECT_EQ(layer.dim(), Dim({8, 3}));
  EXPECT_EQ(as_vector(layers[2].value()), as_vector(encoder(graph, {1, 2, 3}).value()));
  EXPECT_NE(as_vector(layers[1].value()), as_vector(layers[0].value()));
}

TEST_P(EncoderTest, DropoutIsForTraining) {
  EncoderConfig own = config();
  own.embedding_dropout = own.attention_dropout = own.attention_output_dropout = 0.3f;
  own.hidden_dropout = own.network_dropout = 0.3f;
  ParameterCollection model;
  const Encoder encoder(model, own);
  const auto numbers_of = [&](bool inference, std::uint64_t seed) {
    ComputationGraph graph({.inference = inference, .seed = seed});
    return as_vector(encoder(graph, {1, 2, 3}).value());
  };
  EXPECT_EQ(numbers_of(true, 1), numbers_of(true, 2));
  EXPECT_NE(numbers_of(false, 1), numbers_of(false, 2));
  EXPECT_EQ(numbers_of(false, 1), numbers_of(false, 1));
}

TEST_P(EncoderTest, ReadsTypesOfTokens) {
  ParameterCollection model;
  const Encoder encoder(model, config());
  ComputationGraph graph;
  const auto numbers = [&](const Ids& types) {
    return as_vector(encoder(graph, {1, 2, 3}, types).value());
  };
  EXPECT_EQ(numbers({}), numbers({0, 0, 0}));
  EXPECT_THROW(numbers({0, 0}), UsageError);
  const unsigned types = std::max(config().token_types, 1u);
  EXPECT_EQ(message_of<UsageError>([&] {
              numbers({0, 0, types});
            }),
            "[Encoder] need types below " + std::to_string(types) + ", those of this " +
                GetParam() + "; got " + std::to_string(types));
  if (types > 1) {
    EXPECT_NE(numbers({0, 0, 1}), numbers({}));
  }
}

TEST_P(EncoderTest, RefusesIdsThatDoNotFit) {
  ParameterCollection model;
  const Encoder encoder(model, config());
  ComputationGraph graph;
  EXPECT_EQ(message_of<UsageError>([&] { encoder(graph, Ids()); }),
            "[Encoder] need at least 1 id; got 0");
  EXPECT_EQ(message_of<UsageError>([&] {
              encoder(graph, {1, 11});
            }),
            "[Encoder] need ids below 11, the vocabulary of this " + GetParam() + "; got 11");
  const bool counts_on = encoders::find_family(GetParam())->counts_from_padding;
  const unsigned most = GetParam() == "deberta-v2" ? 0 : counts_on ? 10 : 12;
  EXPECT_EQ(encoder.most_pieces(), most);
  if (most == 0) {
    EXPECT_EQ(encoder(graph, Ids(40, 1)).dim(), Dim({8, 40}));
    return;
  }
  EXPECT_EQ(encoder(graph, Ids(most, 1)).dim(), Dim({8, most}));
  const std::string limit = std::to_string(most), more = std::to_string(most + 1);
  EXPECT_EQ(message_of<UsageError>([&] { encoder(graph, Ids(most + 1, 1)); }),
            "[Encoder] need at most " + limit + " pieces, the positions of this " + GetParam() +
                "; got " + more + ": split the text, or use a TextEncoder");
}

// RoBERTa's positions count the pieces that are not padding.
TEST_P(EncoderTest, PaddingInsideATextHasNoPlace) {
  if (!encoders::find_family(GetParam())->counts_from_padding) return;
  ParameterCollection model;
  const Encoder encoder(model, config());
  const LookupParameter table(model.find("/encoder/positions/E"));
  const auto of = [&](const Ids& ids) {
    ComputationGraph graph;
    return as_vector(encoder(graph, ids).value());
  };
  const std::vector<float> before = of({5, 1, 6}), without = of({5, 6, 7});
  table.initialize(4, std::vector<float>(8, 0.5f));  // of the third piece
  EXPECT_EQ(of({5, 1, 6}), before);
  EXPECT_NE(of({5, 6, 7}), without);
  table.initialize(1, std::vector<float>(8, 0.5f));  // of padding
  EXPECT_NE(of({5, 1, 6}), before);
}

// As nn.Embedding with padding_idx.
TEST_P(EncoderTest, TheRowOfPaddingIsNotTrained) {
  ParameterCollection model;
  const Encoder encoder(model, config());
  const std::uint32_t padding = config().padding;
  const LookupParameter table(model.find("/encoder/words/E"));
  ComputationGraph graph;
  const std::vector<float> gradient =
      graph.backward(squared_norm(sin(encoder(graph, {5, padding, 6})))).all_values(*table.p);
  const auto norm_of = [&](std::uint32_t row) {
    float sum = 0;
    const std::size_t size = gradient.size() / config().vocabulary;
    for (std::size_t i = 0; i < size; ++i) sum += std::abs(gradient[row * size + i]);
    return sum;
  };
  EXPECT_EQ(norm_of(padding), 0);
  EXPECT_GT(norm_of(5), 0);
  EXPECT_GT(norm_of(6), 0);
}

// A subcollection in a model with others.
TEST(EncoderNamesTest, ArePathsOfParts) {
  ParameterCollection model;
  const Encoder first(model, small_config("bert")), second(model, small_config("modernbert"));
  const Encoder third(model, small_config("electra"), {.name = "reader"});
  for (const char* const name :
       {"/encoder/words/E", "/encoder/positions/E", "/encoder/token_types/E",
        "/encoder/embedding_norm/g", "/encoder/layer_1/query/W", "/encoder/layer_1/query/b",
        "/encoder/layer_0/network_norm/b", "/encoder_1/layer_0/query_key_value/W",
        "/encoder_1/layer_1/attention_norm/g", "/encoder_1/final_norm/g", "/reader/projection/W"}) {
    EXPECT_NO_THROW(model.find(name)) << name;
  }
  EXPECT_THROW(model.find("/encoder_1/layer_0/attention_norm/g"), UsageError);
  EXPECT_THROW(model.find("/encoder_1/layer_0/query_key_value/b"), UsageError);
  EXPECT_THROW(model.find("/encoder/projection/W"), UsageError);
}

// Pieces that are further away than the window reach an output only through other layers.
TEST(EncoderWindowTest, LocalLayersSeeNearPiecesOnly) {
  EncoderConfig config = small_config("modernbert");
  config.layers = 2;
  config.global_every = 2;  // layer 0 is global, layer 1 local
  ParameterCollection model;
  const Encoder encoder(model, config);
  // Without the global layer's contribution.
  for (const char* const name : {"attention_output", "down"}) {
    Parameter(model.find("/encoder/layer_0/" + std::string(name) + "/W")).zero();
  }
  const auto first_of = [&](std::uint32_t second, std::uint32_t third) {
    ComputationGraph graph;
    return as_vector(pick(encoder(graph, {1, second, third}), 0, 1).value());
  };
  EXPECT_EQ(first_of(2, 3), first_of(2, 4));
  EXPECT_NE(first_of(2, 3), first_of(4, 3));
}

// By hand: 8 buckets on each side, the first 4 for a distance each.
TEST(DistancesTest, BucketsOfDistances) {
  EncoderConfig config = EncoderConfig::of("deberta-v2");
  config.position_buckets = 8;
  config.largest_distance = 33;
  const std::map<int, int> expected = {{0, 0},  {1, 1},  {4, 4},  {5, 5},  {8, 5}, {9, 6},
                                       {16, 6}, {17, 7}, {32, 7}, {33, 8}, {90, 8}};
  for (const auto& [distance, bucket] : expected) {
    EXPECT_EQ(encoders::bucket_of(distance, config), bucket) << distance;
    EXPECT_EQ(encoders::bucket_of(-distance, config), -bucket) << distance;
  }
}

// By hand, from the reference's formula: 32 rows, of which 8 on each side are for a distance each.
TEST(DistancesTest, RowsOfDistances) {
  const std::vector<std::pair<int, unsigned>> expected = {
      {0, 0},     {-1, 1},    {-7, 7}, {-8, 8}, {-11, 8}, {-12, 9},  {-127, 15},
      {-128, 15}, {-999, 15}, {1, 17}, {7, 23}, {8, 24},  {127, 31}, {999, 31}};
  for (const auto& [distance, row] : expected) {
    EXPECT_EQ(encoders::bias_row_of(distance), row) << distance;
  }
}

}  // namespace
}  // namespace dynet_like::nn
