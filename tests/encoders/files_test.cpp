// The files of encoders: round trips, the forms that published ones have, and what is refused.
// encoder_folder_fuzz damages them.
#include "nn/encoders/family.h"
#include "tests/encoders/small_encoders.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/same_bits.h"
#include "tests/support/table.h"

namespace dynet_like::nn {
namespace {

std::vector<float> output_of(const Encoder& encoder, const Ids& ids = {1, 5, 9, 2}) {
  ComputationGraph graph;
  return as_vector(encoder(graph, ids).value());
}

class EncoderFilesTest : public EncoderFolder {
 protected:
  std::vector<float> loaded_output(const EncoderFileOptions& options = {}) {
    ParameterCollection model(9);
    return output_of(load_encoder(model, path(), options));
  }
  /// The error's message after the name of the file, which must be this one. Nothing is added.
  std::string error(const std::string& file = "model.safetensors") {
    ParameterCollection model;
    const std::string message = message_of<FileError>([&] { load_encoder(model, path()); });
    EXPECT_EQ(model.size(), 0u);
    EXPECT_TRUE(message.starts_with(path(file) + ": ")) << message;
    return message.substr(std::min(message.size(), path(file).size() + 2));
  }
};

TEST_F(EncoderFilesTest, RoundTrips) {
  for (const std::string& family : kFamilies) {
    SCOPED_TRACE(family);
    ParameterCollection model(3);
    const Encoder encoder(model, small_config(family));
    encoder.save(path("new/folder"));
    ParameterCollection other(9);
    const Encoder again = load_encoder(other, path("new/folder"), {.name = "other"});
    EXPECT_TRUE(testing::same(output_of(again), output_of(encoder)));
    EXPECT_EQ(again.config().to_text(), encoder.config().to_text());
    EXPECT_EQ(other.storages()[0]->name, "/other/words/E");
  }
}

/// A form of a file of tensors, and how it is made of one that this library writes.
struct Form {
  const char* name;
  std::function<void(const std::string& family, std::vector<FileTensor>&, Metadata&)> make;
};

void replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at != text.npos) text.replace(at, from.size(), to);
}

const std::vector<Form> kForms = {
    // Of a model with a head: with a prefix, other tensors, and old names of norms.
    {"head",
     [](const std::string& family, std::vector<FileTensor>& all, Metadata&) {
       const std::map<std::string, std::string> prefixes = {{"xlm-roberta", "roberta"},
                                                            {"camembert", "roberta"},
                                                            {"data2vec-text", "data2vec_text"},
                                                            {"modernbert", "model"},
                                                            {"deberta-v2", "deberta"}};
       const auto own = prefixes.find(family);
       const std::string prefix = (own == prefixes.end() ? family : own->second) + '.';
       for (FileTensor& each : all) {
         each.name = prefix + each.name;
         replace(each.name, "LayerNorm.weight", "LayerNorm.gamma");
         replace(each.name, "LayerNorm.bias", "LayerNorm.beta");
       }
       const std::vector<std::byte> bytes(8);
       all.push_back({prefix + "pooler.dense.bias", "F32", {2}, bytes});
       all.push_back({"cls.predictions.bias", "F32", {2}, bytes});
       all.push_back({"classifier.weight", "F32", {2}, bytes});
       all.push_back({prefix + "embeddings.position_ids", "I64", {1}, bytes});
     }},
    // safetensors keeps one of several names of a tensor, and has the others in its metadata.
    {"tied name",
     [](const std::string&, std::vector<FileTensor>& all, Metadata& metadata) {
       for (FileTensor& each : all) {
         each.name = "model_of_somebody." + each.name;
         if (each.name.ends_with("word_embeddings.weight") ||
             each.name.ends_with("tok_embeddings.weight")) {
           metadata[std::exchange(each.name, "lm_head.decoder.weight")] = "lm_head.decoder.weight";
         }
       }
       EXPECT_EQ(metadata.size(), 1u);
       metadata["format"] = "pt";
     }},
    // The prefix is that of most tensors: one that happens to end as a parameter's name is no
    // encoder.
    {"another prefix", [](const std::string& family, std::vector<FileTensor>& all, Metadata&) {
       FileTensor other = all.front();
       other.name = "cls." + other.name;
       for (FileTensor& each : all) each.name = family + '.' + each.name;
       all.push_back(other);
     }}};

TEST_F(EncoderFilesTest, ManyFormsAreRead) {
  for (const std::string& family : kFamilies) {
    make(family);
    const std::vector<float> expected = loaded_output();
    const std::vector<FileTensor> good = tensors();
    for (const Form& form : kForms) {
      SCOPED_TRACE(family + ", " + form.name);
      std::vector<FileTensor> all = good;
      Metadata metadata;
      form.make(family, all, metadata);
      write(all, "model.safetensors", metadata);
      EXPECT_TRUE(testing::same(loaded_output(), expected));
    }
  }
}

// tests/io reads all numbers of 16 bits, in both types.
TEST_F(EncoderFilesTest, NumbersOfOtherTypes) {
  for (const auto& [of_file, of_model, is_half] : {std::tuple(DType::f64, DType::f32, false),
                                                   {DType::f32, DType::f64, false},
                                                   {DType::f32, DType::f32, true}}) {
    ParameterCollection model(3, of_file), other(1, of_model);
    Encoder(model, small_config("bert")).save(path());
    std::vector<FileTensor> all = tensors();
    for (FileTensor& each : all) {  // the upper halves
      if (!is_half) break;
      for (std::size_t i = 0; i < each.bytes.size(); i += 4) {
        std::copy_n(&each.bytes[i + 2], 2, &each.bytes[i / 2]);
      }
      each.bytes.resize(each.bytes.size() / 2);
      each.dtype = "BF16";
    }
    write(all);
    load_encoder(other, path());
    for (std::size_t i = 0; i < other.storages().size(); ++i) {
      const Tensor got = other.storages()[i]->tensor(), expected = model.storages()[i]->tensor();
      for (std::size_t k = 0; k < got.d.size(); ++k) {
        const auto right = static_cast<double>(static_cast<float>(expected.at(k)));
        EXPECT_NEAR(got.at(k), right, is_half ? std::abs(right) * 0x1p-7 : 0);
      }
    }
  }
}

TEST_F(EncoderFilesTest, OfShards) {
  make();
  const std::vector<float> expected = loaded_output();
  std::vector<FileTensor> all = tensors();
  const std::vector<FileTensor> first(all.begin(), all.begin() + 7),
      rest(all.begin() + 7, all.end());
  std::filesystem::remove(path("model.safetensors"));
  write(first, "model-00001-of-00002.safetensors");
  write(rest, "model-00002-of-00002.safetensors");
  const std::string wrong =
      std::ranges::min(rest, {}, &FileTensor::name).name;  // the first by name
  const auto index = [&](const std::string& second) {
    std::string map;
    for (std::size_t i = 0; i < all.size(); ++i) {
      map += (i == 0 ? "\"" : ", \"") + all[i].name + "\": \"" +
             (i < 7 ? "model-00001-of-00002.safetensors" : second) + '"';
    }
    write_text("model.safetensors.index.json", "{\"metadata\": {}, \"weight_map\": {" + map + "}}");
  };
  index("model-00002-of-00002.safetensors");
  EXPECT_TRUE(testing::same(loaded_output(), expected));
  index("missing.safetensors");
  EXPECT_TRUE(error("missing.safetensors").starts_with("[safetensors] need"));
  for (const std::string outside :
       {"../model.safetensors", "/etc/model.safetensors", "a/b.safetensors",
        "..\\\\model.safetensors", ".safetensors", "model.bin", ""}) {
    index(outside);
    const std::string got = error("model.safetensors.index.json");
    EXPECT_TRUE(got.starts_with("weight_map[\"" + wrong.substr(0, 40)) &&
                got.find("]: need a file of this folder that ends with .safetensors; got \"") !=
                    std::string::npos)
        << got;
  }
  for (const auto& [json, message] :
       {std::pair(R"({"weight_map": {"a": 3}})", "weight_map[\"a\"]: need a text; got \"3\""),
        {"{}", "need the key \"weight_map\""},
        {R"({"weight_map": {}})", "weight_map: need the file of every tensor; got none"}}) {
    write_text("model.safetensors.index.json", json);
    EXPECT_EQ(error("model.safetensors.index.json"), message);
  }
  write(all, "model-00001-of-00002.safetensors");
  index("model-00002-of-00002.safetensors");
  EXPECT_TRUE(error("model-00002-of-00002.safetensors")
                  .starts_with("[load_encoder] need tensors with a name of their own; got "));
}

// What is done to a folder that is good, and the message.
TEST_F(EncoderFilesTest, FilesThatDoNotFit) {
  const std::string name = "encoder.layer.1.attention.self.key.weight";
  const auto changed =
      [&](const std::function<void(std::vector<FileTensor>&, FileTensor&)>& change) {
        return [&, change] {
          std::vector<FileTensor> all = tensors();
          change(all, *std::ranges::find(all, name, &FileTensor::name));
          write(all);
        };
      };
  // Sizes of a hostile file: nothing is allocated for them.
  const auto config = [&](const std::string& key, const std::string& from, const std::string& to) {
    return [=, this] { change_config('"' + key + "\": " + from, '"' + key + "\": " + to); };
  };
  const std::string no_weights =
      "[load_encoder] need this file, or the index of shards model.safetensors.index.json; got ";
  const std::vector<std::pair<std::function<void()>, std::string>> cases = {
      {[&] { std::filesystem::remove(path("model.safetensors")); }, no_weights + "neither"},
      {[&] { std::filesystem::rename(path("model.safetensors"), path("pytorch_model.bin")); },
       no_weights + "pytorch_model.bin alone: save it again with save_pretrained(..., "
                    "safe_serialization=True)"},
      {changed([](auto&, FileTensor& own) {
         own.shape = {4, 16};
       }),
       "[load_encoder] need F32 [8, 8] for " + name + "; got F32 [4, 16]"},
      {changed([](auto&, FileTensor& own) {
         own.dtype = "I64";
         own.shape = {8, 4};
       }),
       "[load_encoder] need F32 [8, 8] for " + name + "; got I64 [8, 4]"},
      {changed([](auto& all, FileTensor& own) { all.erase(all.begin() + (&own - all.data())); }),
       "[load_encoder] need the tensor " + name +
           "; got 36 tensors, the nearest are \"encoder.layer.0.attention.self.key.weigh...\", "
           "\"encoder.layer.1.attention.self.query.wei...\", "
           "\"encoder.layer.0.attention.self.query.wei...\""},
      {changed([](auto& all, FileTensor& own) {
         all.push_back({"encoder.layer.2.output.dense.bias", "F32", {8, 8}, own.bytes});
       }),
       "[load_encoder] need no tensors but those of a bert encoder; got "
       "encoder.layer.2.output.dense.bias, F32 [8, 8]: if it belongs to a head, pass "
       "EncoderFileOptions::report"},
      {changed([](auto& all, FileTensor&) {
         std::vector<FileTensor> both;
         for (const std::string prefix : {"query.", "passage."}) {
           for (FileTensor each : all) {
             each.name = prefix + each.name;
             both.push_back(each);
           }
         }
         all = both;
       }),
       "[load_encoder] need the tensors of one encoder; got two, which begin with passage. and "
       "query."},
      {config("vocab_size", "11", "4294967295"),
       "[load_encoder] need F32 [4294967295, 8] for embeddings.word_embeddings.weight; got F32 "
       "[11, 8]"},
      {config("num_hidden_layers", "2", "1000"),
       "[load_encoder] need the tensor encoder.layer.2.attention.self..."},
      {config("num_hidden_layers", "2", "1"),
       "[load_encoder] need no tensors but those of a bert encoder; got encoder.layer.1...."}};
  for (const auto& [change, message] : cases) {
    std::filesystem::remove(path("pytorch_model.bin"));
    make();
    change();
    const std::string got = error();
    EXPECT_TRUE(is_message(got, message)) << got << "\nfor " << message;
  }
  std::filesystem::remove(path("config.json"));
  EXPECT_TRUE(error("config.json").starts_with("[EncoderConfig] need"));
}

TEST_F(EncoderFilesTest, ReportsWhatIsMissingOrLeftOver) {
  make();
  const std::vector<float> expected = loaded_output();
  std::vector<FileTensor> all = tensors();
  const FileTensor first = all.front();
  all.push_back({"span_head.weight", "F32", {2}, std::vector<std::byte>(8)});
  write(all);
  LoadReport report;
  EXPECT_TRUE(testing::same(loaded_output({.report = &report}), expected));
  EXPECT_EQ(report.text(), "loaded 37 parameters\nonly in the file: \"span_head.weight\"\n");

  all.erase(all.begin());
  write(all);
  ParameterCollection model(5);
  const Encoder encoder = load_encoder(model, path(), {.name = "own", .report = &report});
  EXPECT_EQ(report.missing, std::vector<std::string>{first.name});
  // It has new weights, and the others are read.
  encoder.save(path("copy"));
  const auto copy = SafetensorsFile::read(path("copy/model.safetensors"));
  EXPECT_EQ(std::ranges::count_if(all,
                                  [&](const FileTensor& each) {
                                    const TensorEntry* const entry = copy.find(each.name);
                                    return entry != nullptr &&
                                           std::ranges::equal(entry->bytes, each.bytes);
                                  }),
            static_cast<std::ptrdiff_t>(all.size()) - 1);
  EXPECT_FALSE(std::ranges::all_of(copy.find(first.name)->bytes,
                                   [](std::byte b) { return b == std::byte(0); }));

  all.front().shape = {1, 2, 3};
  all.front().bytes.resize(24);
  write(all);
  loaded_output({.report = &report});
  ASSERT_EQ(report.mismatched.size(), 1u);
  EXPECT_EQ(report.mismatched[0].name, all.front().name);
  EXPECT_EQ(report.mismatched[0].found, "F32 [1, 2, 3]");
}

TEST_F(EncoderFilesTest, ConfigsThatAreRefused) {
  // A family, a part of its config, what takes its place, and the message.
  for (const auto& row : rows_of(R"(
bert | "bert" | "gpt2"
    | [EncoderConfig] need model_type to be one of bert, ernie, roberta, xlm-roberta, camembert, data2vec-text,
    mpnet, distilbert, electra, modernbert, deberta-v2; got "gpt2"
bert | "gelu" | "mish"
    | [Encoder] need an activation of gelu, gelu_new, gelu_pytorch_tanh, relu, silu and swish; got mish
bert | "hidden_size": 8 | "hidden_size": -8
    | [EncoderConfig] need hidden_size to be a whole number from 0 to 4294967295; got -8
bert | "hidden_size": 8 | "hidden_size": 4294967296
    | [EncoderConfig] need hidden_size to be a whole number from 0 to 4294967295; got 4294967296
bert | "hidden_size": 8 | "hidden_size": 9 | [Encoder] need a size that is a multiple of heads; got 9 and 2
bert | "hidden_size": 8 | "hidden_size": 0
    | [Encoder] need a vocabulary, size, hidden, heads and positions of at least 1; got 0
bert | "num_hidden_layers": 2 | "num_hidden_layers": 1001 | [Encoder] need 1 to 1000 layers; got 1001
bert | "hidden_dropout_prob": 0.0 | "hidden_dropout_prob": 1.5
    | [Encoder] need rates of dropout of at least 0 and below 1; got 1.5
bert | "hidden_dropout_prob": 0.0 | "hidden_dropout_prob": "a"
    | [EncoderConfig] need hidden_dropout_prob to be a number; got "a"
bert | "gelu" | 7 | [EncoderConfig] need hidden_act to be text; got 7
bert | "absolute" | "relative_key" | [EncoderConfig] need position_embedding_type to be "absolute"; got "relative_key"
roberta | "pad_token_id": 1 | "pad_token_id": 11
    | [Encoder] need more positions than the padding's id and one; got 12 and 11
modernbert | "norm_bias": false | "norm_bias": true | [EncoderConfig] need norm_bias to be false; got true
modernbert | "num_attention_heads": 2 | "num_attention_heads": 8 | [Encoder] need an even size of a head; got 1
modernbert | "local_attention": 2 | "rope_parameters": {"full_attention": {"rope_type": "yarn"}}
    | [EncoderConfig] need rope_parameters/full_attention/rope_type to be "default"; got "yarn"
modernbert | "local_attention": 2
    | "layer_types": ["full_attention", "sliding_attention", "full_attention", "full_attention"]
    | [EncoderConfig] need layer_types with full_attention at every so many layers; got "full_attention"
modernbert | "local_attention": 2 | "rope_scaling": {"factor": 2} | [EncoderConfig] need rope_scaling to be null; got {"factor":2}
roberta | "absolute" | "relative_key_query"
    | [EncoderConfig] need position_embedding_type to be "absolute"; got "relative_key_query"
deberta-v2 | "position_buckets": 4 | "other": 4 | [EncoderConfig] need the key position_buckets; got none
bert | "layer_norm_eps": 1e-12 | "layer_norm_eps": NaN | [EncoderConfig] need layer_norm_eps to be a number; got "NaN"
deberta-v2 | "conv_kernel_size": 0 | "conv_kernel_size": 3 | [EncoderConfig] need conv_kernel_size to be 0; got 3
deberta-v2 | "share_att_key": true | "other": true | [EncoderConfig] need share_att_key to be true; got null
deberta-v2 | "p2c|c2p" | ["p2c"] | [EncoderConfig] need pos_att_type to be "p2c|c2p"; got ["p2c"]
deberta-v2 | "position_buckets": 4 | "position_buckets": -1
    | [Encoder] need at least 2 position_buckets, and a largest distance above half of them and 1; got 0 and 12
)")) {
    make(row[0]);
    change_config(row[1], row[2]);
    EXPECT_EQ(error("config.json"), row[3]);
  }
  write_text("config.json", std::string(100000, '['));
  EXPECT_EQ(error("config.json"), "need at most 16 levels of JSON");
  write_text("config.json", "{\"model_type\": ");
  EXPECT_TRUE(error("config.json").starts_with("need JSON; got an error: "));
  write_text("config.json", "[1]");
  EXPECT_EQ(error("config.json"), "need an object; got another kind of value");
}

// Forms that other versions of transformers write.
TEST_F(EncoderFilesTest, OtherFormsOfConfigs) {
  make("modernbert");
  change_config("\"global_rope_theta\": 160000.0",
                "\"layer_types\": [\"full_attention\", \"sliding_attention\"], "
                "\"rope_parameters\": {\"full_attention\": {\"rope_theta\": 3.5}}");
  change_config("\"global_attn_every_n_layers\": 2", "\"torch_dtype\": \"float16\"");
  const EncoderConfig config = EncoderConfig::read(path("config.json"));
  EXPECT_EQ(config.global_theta, 3.5f);
  EXPECT_EQ(config.local_theta, 10000);
  EXPECT_EQ(config.global_every, 2u);
  make("deberta-v2");
  change_config("\"p2c|c2p\"", "[\"c2p\", \"p2c\"]");
  change_config("\"max_relative_positions\": -1", "\"max_relative_positions\": 99");
  EXPECT_EQ(EncoderConfig::read(path("config.json")).largest_distance, 99u);
  // What is absent or null has the family's default.
  const EncoderConfig bare =
      EncoderConfig::from_text("{\"model_type\": \"xlm-roberta\", \"dim\": null}");
  EXPECT_EQ(bare.to_text(), EncoderConfig::of("xlm-roberta").to_text());
  // Numbers that only Python writes.
  const EncoderConfig python = EncoderConfig::from_text(
      R"({"model_type": "bert", "a": NaN, "b": [Infinity, -Infinity], "c\"NaN": "NaN\\", "vocab_size": 7})");
  EXPECT_EQ(python.vocabulary, 7u);
}

TEST(EncoderConfigTest, FamiliesByArchitectures) {
  for (const auto& row : rows_of(R"(
BertForMaskedLM | bert
BertModel | bert
BertLMHeadModel | bert
RobertaForSequenceClassification | roberta
XLMRobertaModel | xlm-roberta
CamembertForMaskedLM | camembert
DistilBertModel | distilbert
ElectraForPreTraining | electra
ModernBertForMaskedLM | modernbert
MPNetModel | mpnet
ErnieModel | ernie
Data2VecTextModel | data2vec-text
BertGenerationEncoder | none
RobertaPreLayerNormModel | none
GPT2Model | none
)")) {
    std::string family;
    const std::string message = message_of<FileError>([&] {
      family = EncoderConfig::from_text("{\"architectures\": [\"" + row[0] + "\"]}").model_type;
    });
    if (row[1] != "none") {
      EXPECT_EQ(family, row[1]) << message;
    } else {
      EXPECT_TRUE(
          is_message(message, "...deberta-v2; got none and the architectures [\"" + row[0] + "\"]"))
          << message;
    }
  }
}

}  // namespace
}  // namespace dynet_like::nn
