// Damaged folders of encoders: every file is read as it was, or refused, and nothing is added.
#include <gtest/gtest.h>

#include <cctype>

#include "dynet_like/graph/computation_graph.h"
#include "nn/encoders/text_encoder.h"
#include "tests/encoders/small_encoders.h"
#include "tests/support/damaged_files.h"

namespace dynet_like::nn {
namespace {

// Damage may leave another file that makes sense: "bert" that was cased, say. So only the kind of
// error is compared, and that nothing is left behind.
struct Read {
  bool operator==(const Read&) const = default;
};

class DamagedFoldersTest : public EncoderFolder, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    make(is_merged() ? "roberta" : "bert");
    if (is_merged()) {
      write_text("vocab.json", R"({"<s>":0,"<pad>":1,"</s>":2,"a":3,"b":4,"ab":5})");
      write_text("merges.txt", "#version: 0.2\na b\n");
    } else {
      write_text("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nc\n");
    }
    write_text("tokenizer_config.json", R"({"do_lower_case":false,"add_prefix_space":true,
        "mask_token":{"content":"a","lstrip":true},"additional_special_tokens":["c"]})");
    write_text("special_tokens_map.json", R"({"pad_token":"<pad>"})");
    write_text("added_tokens.json", is_merged() ? R"({"<new>":6})" : R"({"<new>":8})");
    write_text("config_sentence_transformers.json",
               R"({"prompts":{"q":"a "},"default_prompt_name":"q"})");
    write_text("sentence_bert_config.json", R"({"max_seq_length":8,"do_lower_case":true})");
    write_text("modules.json", R"([
        {"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
        {"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"},
        {"idx":2,"name":"2","path":"2_Dense","type":"sentence_transformers.models.Dense"}])");
    std::filesystem::create_directory(path("1_Pooling"));
    write_text("1_Pooling/config.json",
               R"({"word_embedding_dimension":8,"pooling_mode_cls_token":true})");
    std::filesystem::create_directory(path("2_Dense"));
    write_text("2_Dense/config.json", R"({"in_features":8,"out_features":2,"bias":true})");
    write({{"linear.weight", "F32", {2, 8}, std::vector<std::byte>(64)},
           {"linear.bias", "F32", {2}, std::vector<std::byte>(8)}},
          "2_Dense/model.safetensors");
  }
  bool is_merged() const {
    return GetParam().starts_with("vocab.json") || GetParam().starts_with("merges");
  }
};

INSTANTIATE_TEST_SUITE_P(Files, DamagedFoldersTest,
                         ::testing::Values("config.json", "vocab.txt", "vocab.json", "merges.txt",
                                           "tokenizer_config.json", "special_tokens_map.json",
                                           "added_tokens.json", "modules.json",
                                           "config_sentence_transformers.json",
                                           "sentence_bert_config.json", "1_Pooling/config.json",
                                           "2_Dense/config.json", "2_Dense/model.safetensors"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return name;
                         });

TEST_P(DamagedFoldersTest, AreReadOrRefused) {
  const Damaged damaged = expect_damage_is_seen(path(GetParam()), [&](const std::string&) {
    ParameterCollection model;
    try {
      const TextEncoder encoder = TextEncoder::load(model, path());
      ComputationGraph graph;
      encoder.text(graph, "ab a c").value();
    } catch (const UsageError&) {
      EXPECT_GT(model.size(), 0u);  // a text that this encoder cannot read
    } catch (const FileError&) {
      EXPECT_EQ(model.size(), 0u);
      throw;
    }
    return Read();
  });
  EXPECT_GT(damaged.refused, 0u);
}

}  // namespace
}  // namespace dynet_like::nn
