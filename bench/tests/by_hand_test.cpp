// The models by hand have the same losses as the library's, before and after updates.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "bench/by_hand/model.h"
#include "bench/models/models.h"

namespace dynet_like::bench {
namespace {

constexpr float kRate = 0.001f;

double distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

/// The values by name. Parts of a matrix have the same name, and follow each other.
std::map<std::string, std::vector<float>> values_of(by_hand::Model& model) {
  std::map<std::string, std::vector<float>> values;
  for (const by_hand::Weight* weight : model.weights()) {
    std::vector<float>& all = values[weight->name()];
    all.insert(all.end(), weight->values(), weight->values() + weight->dim().size());
  }
  values["/embedding/E"].assign(model.table().begin(), model.table().end());
  return values;
}

std::vector<float> values_of(Workload& model, const std::string& name) {
  return as_vector(model.parameters().find(name)->tensor());
}

class ByHandTest : public ::testing::TestWithParam<const char*> {};

/// Also for a single instance, which has no minibatch to share steps with.
TEST_P(ByHandTest, LossesAndWeightsAreThoseOfTheLibrary) {
  for (const unsigned hidden : {20u, 64u}) {
    for (const unsigned size : {1u, 64u}) {
      SCOPED_TRACE(std::to_string(hidden) + ", minibatch " + std::to_string(size));
      const auto by_hand = by_hand::make_model(GetParam(), hidden);
      const auto library = make_model(GetParam(), hidden, Form::fused);
      const auto untrained = make_model(GetParam(), hidden, Form::fused);
      SimpleSGDTrainer trainer(library->parameters(), kRate);
      Minibatch batch;
      for (int step = 0; step < 5; ++step, batch.clear()) {
        for (unsigned i = 0; i < size; ++i) batch.add_loss(library->loss(batch.new_graph(), i));
        const auto expected = static_cast<double>(batch.forward());
        EXPECT_NEAR(by_hand->forward(0, size, false) / expected, 1, 1e-5);
        EXPECT_NEAR(by_hand->forward(0, size, true) / expected, 1, 1e-5) << "step " << step;
        trainer.update(batch.backward());
        by_hand->update(kRate);
      }
      EXPECT_EQ(values_of(*by_hand).size(), library->parameters().size());
      // Relative to the distance that they have moved, which depends on every gradient.
      for (const auto& [name, values] : values_of(*by_hand)) {
        const std::vector<float> end = values_of(*library, name);
        ASSERT_EQ(values.size(), end.size());
        EXPECT_LT(distance(values, end), 1e-3 * distance(values_of(*untrained, name), end)) << name;
      }
    }
  }
}

/// Except for products with the zeros before the first word of both directions.
TEST_P(ByHandTest, CountsAsTheLibraryDoes) {
  constexpr unsigned kHidden = 64, kSize = 8;
  const auto by_hand = by_hand::make_model(GetParam(), kHidden);
  const auto library = make_model(GetParam(), kHidden, Form::fused);
  Minibatch batch;
  for (unsigned i = 0; i < kSize; ++i) batch.add_loss(library->loss(batch.new_graph(), i));
  batch.forward();
  by_hand->forward(0, kSize, false);
  const double of_zeros =
      GetParam() == std::string("tagger") ? 2 * kSize * 8 * kHidden * kHidden : 0;
  EXPECT_NEAR((by_hand->product_flops() + of_zeros) / batch.explain().product_flops, 1, 1e-9);
  for (unsigned i = 0; i < kSize; ++i) EXPECT_EQ(by_hand->words(i), library->words(i));
}

INSTANTIATE_TEST_SUITE_P(All, ByHandTest, ::testing::Values("tree_lstm", "tagger"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ByHandModelsTest, ThereAreNoOthers) {
  EXPECT_EQ(by_hand::make_model("language_model", 8), nullptr);
}

}  // namespace
}  // namespace dynet_like::bench
