// The defaults of families against those of transformers, in the table of
// scripts/encoder_defaults.py.
#include <cstdlib>

#include "nn/encoders/family.h"
#include "nn/text/json_entry.h"
#include "tests/encoders/small_encoders.h"
#include "tests/support/precompiled.h"
#include "tests/support/source_text.h"

namespace dynet_like::nn {
namespace {

using encoders::ConfigKey;
using encoders::Family;
using encoders::FixedKey;

// Keys that change no output of an encoder: heads, what generates text, and how a program calls it.
const std::string kHarmless =
    " _name_or_path architectures bos_token_id chunk_size_feed_forward classifier_activation "
    " classifier_bias classifier_dropout classifier_pooling cls_token_id decoder_bias "
    " deterministic_flash_attn dtype eos_token_id initializer_cutoff_factor is_encoder_decoder "
    " legacy model_type output_attentions output_hidden_states pooler_dropout pooler_hidden_act "
    " pooler_hidden_size problem_type qa_dropout return_dict sep_token_id seq_classif_dropout "
    " sinusoidal_pos_embds sparse_pred_ignore_index sparse_prediction summary_activation "
    " summary_last_dropout summary_type summary_use_proj task_type_vocab_size "
    " tie_word_embeddings use_cache ";

JsonEntry reference(const std::string& family) {
  const std::string file = "tests/encoders/defaults.json";
  return JsonEntry::parse(source_text(file), file).at(family);
}

class DefaultsTest : public ::testing::TestWithParam<std::string> {
 protected:
  const JsonEntry reference_ = reference(GetParam());
  const Family& family_ = *encoders::find_family(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Families, DefaultsTest, ::testing::ValuesIn(kFamilies), family_name);

TEST_P(DefaultsTest, AreThoseOfTransformers) {
  const JsonEntry own = JsonEntry::parse(family_.defaults.to_text(), "own");
  unsigned compared = 0;
  for (const ConfigKey& key : family_.keys) {
    const auto expected = reference_.find(key.name);
    if (!expected || key.is_required) continue;
    const auto found = own.find(key.name);
    ASSERT_TRUE(found) << key.name;
    if (expected->is_text()) {
      EXPECT_EQ(found->text(), expected->text()) << key.name;
    } else {
      EXPECT_EQ(static_cast<float>(found->real()), static_cast<float>(expected->real()))
          << key.name;
    }
    ++compared;
  }
  EXPECT_GE(compared, 11u);
}

// The reference's default is one of the values that are supported exactly if an absent key is.
TEST_P(DefaultsTest, OfFixedKeysAreSupportedIfAbsentKeysAre) {
  for (const FixedKey& key : family_.fixed) {
    const auto expected = reference_.find(key.name);
    const bool is_supported = !expected || std::ranges::count(key.values, expected->json()) > 0;
    if (expected) {
      EXPECT_EQ(is_supported, std::ranges::count(key.values, "null") > 0) << key.name;
    }
  }
}

// A key of a later version of transformers is looked at by somebody.
TEST_P(DefaultsTest, EveryKeyIsReadOrHarmless) {
  reference_.each_member([&](const std::string& name, const JsonEntry&) {
    const auto is_name = [&](const auto& key) {
      return key.name == name || key.name.starts_with(name + '/');
    };
    const bool is_known = std::ranges::any_of(family_.keys, is_name) ||
                          std::ranges::any_of(family_.fixed, is_name) || name == "layer_types" ||
                          kHarmless.find(' ' + name + ' ') != std::string::npos;
    EXPECT_TRUE(is_known) << name;
  });
}

// Which layers of ModernBERT are global, and its rotary positions, are in nested keys there.
TEST(ModernBertDefaultsTest, AreThoseOfTransformers) {
  const JsonEntry expected = reference("modernbert"), rope = expected.at("rope_parameters");
  const EncoderConfig config = EncoderConfig::of("modernbert");
  EXPECT_EQ(rope.at("full_attention").at("rope_theta").real(), config.global_theta);
  EXPECT_EQ(rope.at("sliding_attention").at("rope_theta").real(), config.local_theta);
  unsigned layer = 0;
  expected.at("layer_types").each_item([&](const JsonEntry& kind) {
    EXPECT_EQ(kind.text() == "full_attention", layer++ % config.global_every == 0);
  });
  EXPECT_EQ(layer, config.layers);
}

}  // namespace
}  // namespace dynet_like::nn
