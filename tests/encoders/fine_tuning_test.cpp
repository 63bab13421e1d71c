// Fine-tuning of encoders: groups, frozen parts, adapters, and runs that resume.
#include "dynet_like/train/gradient_check.h"
#include "nn/train.h"
#include "tests/encoders/small_encoders.h"
#include "tests/support/layers.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"

namespace dynet_like::nn {
namespace {

class FineTuningTest : public ::testing::TestWithParam<std::string> {
 protected:
  EncoderConfig config() const { return small_config(GetParam()); }
};
// One of each kind: with all matrices apart, with joined ones, and with distances.
INSTANTIATE_TEST_SUITE_P(Families, FineTuningTest,
                         ::testing::Values("bert", "modernbert", "deberta-v2"), family_name);

std::vector<float> numbers_of(const ParameterCollection& model, const std::string& part) {
  std::vector<float> all;
  for (const auto& storage : model.storages()) {
    if (storage->name.find(part) == std::string::npos) continue;
    const std::vector<float> own = as_vector(storage->tensor());
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::vector<float> tuned_output_of(const Encoder& encoder) {
  ComputationGraph graph({.inference = true});
  return as_vector(encoder(graph, {1, 2, 3, 4}).value());
}

// Learns from a few sequences, and returns the values of all parameters.
void train(const ParameterCollection& model, const Encoder& encoder,
           const std::vector<ParameterGroup>& groups, unsigned epochs = 2) {
  AdamWTrainer trainer(model, 0.01f, 0.1f);
  const auto loss = [&](ComputationGraph& graph, std::size_t i) {
    return squared_norm(encoder(graph, Ids(2 + i % 3, static_cast<std::uint32_t>(1 + i))) - 0.5f);
  };
  nn::train(trainer, std::size_t{6}, loss,
            {.epochs = epochs,
             .batch_size = 2,
             .schedule = {.groups = {{1, groups}}},
             .report = {.lines = nullptr}});
}

TEST_P(FineTuningTest, RatesFallFromLayerToLayer) {
  ParameterCollection model;
  const Encoder encoder(model, config(), {.name = "reader"});
  const ParameterGroups groups(encoder.groups({.rate = 0.5f, .layer_decay = 0.5f}),
                               model.storages());
  for (const auto& storage : model.storages()) {
    const GroupSettings settings = groups.settings_of(*storage);
    const auto has = [&](const char* part) {
      return storage->name.find(part) != std::string::npos;
    };
    const float rate = has("layer_1") || has("final_norm") ? 0.5f : has("layer_0") ? 0.25f : 0.125f;
    EXPECT_EQ(settings.rate, rate) << storage->name;
    const bool decays = storage->name.ends_with("/W") || storage->name.ends_with("/E");
    EXPECT_EQ(settings.weight_decay, decays ? std::optional<float>() : 0.0f) << storage->name;
    EXPECT_FALSE(settings.frozen) << storage->name;
  }
}

TEST_P(FineTuningTest, FrozenPartsDoNotChange) {
  ParameterCollection model;
  const Encoder encoder(model, config());
  const auto before = [&](const char* part) { return numbers_of(model, part); };
  const std::vector<float> words = before("/words/"), first = before("layer_0"),
                           second = before("layer_1");
  train(model, encoder, encoder.groups({.frozen = 2}));
  EXPECT_EQ(numbers_of(model, "/words/"), words);
  EXPECT_EQ(numbers_of(model, "layer_0"), first);
  EXPECT_NE(numbers_of(model, "layer_1"), second);
  const std::vector<float> all = numbers_of(model, "/");
  train(model, encoder, encoder.groups({.frozen = 3}));
  EXPECT_EQ(numbers_of(model, "/"), all);
}

TEST_P(FineTuningTest, AdaptersLearnAlone) {
  ParameterCollection model;
  const Encoder base(model, config()), encoder = base.with_adapters(model, {.rank = 2});
  EXPECT_EQ(tuned_output_of(encoder), tuned_output_of(base));  // B is 0
  const std::vector<float> own = numbers_of(model, "/encoder/");
  train(model, encoder, encoder.groups());
  EXPECT_EQ(numbers_of(model, "/encoder/"), own);
  const std::vector<float> tuned = tuned_output_of(encoder);
  EXPECT_NE(tuned, tuned_output_of(base));
  EXPECT_EQ(message_of<UsageError>([&] { encoder.save("nowhere"); }),
            "[Encoder] need adapters that are merged to save nowhere; got others: call "
            "merge_adapters()");
  encoder.merge_adapters();
  const std::vector<float> merged = tuned_output_of(base);
  EXPECT_EQ(tuned_output_of(encoder), merged);
  for (std::size_t i = 0; i < tuned.size(); ++i) EXPECT_NEAR(merged[i], tuned[i], 2e-5f);
}

TEST_P(FineTuningTest, GradientsOfAdaptersAreThoseOfDifferences) {
  if (runs_slowly()) GTEST_SKIP() << "operations are compared everywhere";
  ParameterCollection model(1, DType::f64);
  const Encoder encoder = Encoder(model, config()).with_adapters(model, {.rank = 2, .scale = 0.5f});
  randomise(model, 5);
  const auto loss = [&](ComputationGraph& graph) {
    return squared_norm(sin(encoder(graph, {3, 7, 3, 10, 2})));
  };
  EXPECT_LT(check_gradients(model, loss).error(), 1e-6);
}

TEST_P(FineTuningTest, AdaptersChangeNoBitInBatches) {
  ParameterCollection model;
  const Encoder encoder = Encoder(model, config()).with_adapters(model, {.rank = 3});
  randomise(model, 5);
  expect_same_bits_in_batches(model, 7, [&](ComputationGraph& graph, unsigned sample) {
    Ids ids(1 + 4 * sample % 10);
    for (unsigned i = 0; i < ids.size(); ++i) ids[i] = (3 * i + sample) % 11;
    return squared_norm(sin(encoder(graph, ids)));
  });
}

TEST(AdapterTest, NamesAndSizes) {
  ParameterCollection model;
  const Encoder base(model, small_config("bert")),
      first = base.with_adapters(model, {.rank = 3}),
      second = base.with_adapters(model, {.rank = 1, .name = "other"});
  EXPECT_EQ(model.find("/adapters/layer_1/query/A")->dim, Dim({3, 8}));
  EXPECT_EQ(model.find("/adapters/layer_0/down/B")->dim, Dim({8, 3}));
  EXPECT_EQ(model.find("/other/layer_0/up/A")->dim, Dim({1, 8}));
  EXPECT_EQ(message_of<UsageError>([&] { first.with_adapters(model); }),
            "[Encoder] need an encoder without adapters, a rank from 1 and a finite scale above 0; "
            "got one with adapters, rank 8 and scale 2");
  EXPECT_EQ(message_of<UsageError>([&] { base.with_adapters(model, {.rank = 0}); }),
            "[Encoder] need an encoder without adapters, a rank from 1 and a finite scale above 0; "
            "got rank 0 and scale 2");
}

TEST(FineTuningMistakesTest, AreRefused) {
  ParameterCollection model;
  const Encoder encoder(model, small_config("bert"));
  EXPECT_EQ(
      message_of<UsageError>([&] { encoder.groups({.frozen = 4}); }),
      "[Encoder] need at most 3 parts that are frozen, and 0 < layer_decay <= 1; got 4 and 1");
  EXPECT_EQ(message_of<UsageError>([&] { encoder.groups({.layer_decay = 1.5f}); }),
            "[Encoder] need at most 3 parts that are frozen, and 0 < layer_decay <= 1; got 0 and "
            "1.5");
  EXPECT_THROW(encoder.groups({.rate = std::nanf("")}), UsageError);
}

// A run that is stopped and resumed has the bits of one that is not, whatever is tuned.
class TunedRunTest : public EncoderFolder {
 protected:
  // The parameters after `epochs` epochs, of which the first `stop` are a run of their own.
  std::vector<float> tuned(unsigned stop, unsigned epochs, bool with_adapters) {
    std::filesystem::remove_all(path("run"));
    std::vector<float> numbers;
    for (const unsigned end : {stop, epochs}) {
      ParameterCollection model;
      const Encoder base(model, small_config("bert"));
      const Encoder encoder = with_adapters ? base.with_adapters(model) : base;
      const Linear output(model, 8, 3);
      AdamWTrainer trainer(model, 0.01f, 0.1f);
      trainer.enable_clipping(1);
      TrainingOptions options = {
          .epochs = end,
          .batch_size = 3,
          .schedule = {.rate = WarmUp{4, CosineRate{.peak = 0.01f, .updates = 20}},
                       .groups = {{1, encoder.groups({.layer_decay = 0.8f, .frozen = 1})}}},
          .files = {.folder = path("run"), .resume = end != stop},
          .report = {.lines = nullptr}};
      const auto loss = [&](ComputationGraph& graph, std::size_t i) {
        const Ids ids(2 + i % 4, static_cast<std::uint32_t>(i % 11));
        return cross_entropy(output(dropout(pick(encoder(graph, ids), 0u, 1), 0.2f)), i % 3);
      };
      nn::train(trainer, std::size_t{11}, loss, options);
      numbers = numbers_of(model, "/");
    }
    return numbers;
  }
};

TEST_F(TunedRunTest, ResumesWithTheSameBits) {
  EXPECT_EQ(tuned(2, 4, false), tuned(4, 4, false));
  EXPECT_EQ(tuned(1, 4, true), tuned(4, 4, true));
  EXPECT_NE(tuned(4, 4, true), tuned(4, 4, false));
}

}  // namespace
}  // namespace dynet_like::nn
