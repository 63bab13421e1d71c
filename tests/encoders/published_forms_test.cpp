// Forms of files that published encoders have: other names, types and prefixes of tensors, old and
// unusual configs, and reports in place of errors.
#include "nn/encoders/family.h"
#include "nn/encoders/relative_positions.h"
#include "tests/encoders/small_encoders.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/same_bits.h"

namespace dynet_like::nn {
namespace {

class PublishedFormsTest : public EncoderFolder {
 protected:
  std::vector<float> output(const EncoderFileOptions& options = {}, const Ids& ids = {1, 5, 9, 2}) {
    ParameterCollection model(9);
    const Encoder encoder = load_encoder(model, path(), options);
    ComputationGraph graph;
    return as_vector(encoder(graph, ids).value());
  }
  std::string error() {
    ParameterCollection model;
    const std::string message = message_of<FileError>([&] { load_encoder(model, path()); });
    EXPECT_EQ(model.size(), 0u);
    return message.substr(message.find(": ") + 2);
  }
  void write_named(std::vector<FileTensor> all,
                   const std::map<std::string, std::string>& metadata) {
    std::vector<TensorEntry> entries;
    for (const FileTensor& each : all) {
      entries.push_back({each.name, each.dtype, each.shape, each.bytes});
    }
    write_safetensors(path("model.safetensors"), entries, metadata);
  }
};

// safetensors keeps one of several names of a tensor, and has the others in its metadata.
TEST_F(PublishedFormsTest, TableUnderATiedName) {
  for (const std::string& family : kFamilies) {
    SCOPED_TRACE(family);
    make(family);
    const std::vector<float> expected = output();
    std::vector<FileTensor> all = tensors();
    std::string table;
    for (FileTensor& each : all) {
      each.name = "model_of_somebody." + each.name;
      if (!each.name.ends_with("word_embeddings.weight") &&
          !each.name.ends_with("tok_embeddings.weight")) {
        continue;
      }
      table = std::exchange(each.name, "lm_head.decoder.weight");
    }
    ASSERT_NE(table, "");
    write_named(all, {{table, "lm_head.decoder.weight"}, {"format", "pt"}});
    EXPECT_TRUE(testing::same(output(), expected));
  }
}

TEST_F(PublishedFormsTest, PrefixesOfTwoEncoders) {
  make();
  std::vector<FileTensor> all = tensors(), both;
  for (const std::string prefix : {"query.", "passage."}) {
    for (FileTensor each : all) {
      each.name = prefix + each.name;
      both.push_back(each);
    }
  }
  write(both);
  EXPECT_EQ(
      error(),
      "[load_encoder] need the tensors of one encoder; got two, which begin with passage. and "
      "query.");
}

// A tensor of a prefix that happens to end as a parameter's name is not an encoder.
TEST_F(PublishedFormsTest, ThePrefixIsThatOfMostTensors) {
  make();
  const std::vector<float> expected = output();
  std::vector<FileTensor> all = tensors();
  for (FileTensor& each : all) each.name = "bert." + each.name;
  FileTensor other = all.front();
  other.name = "cls." + other.name.substr(5);
  all.push_back(other);
  write(all);
  EXPECT_TRUE(testing::same(output(), expected));
}

TEST_F(PublishedFormsTest, WideNumbers) {
  ParameterCollection wide(3, DType::f64);
  Encoder(wide, small_config("bert")).save(path());
  ParameterCollection narrow, again(1, DType::f64);
  load_encoder(narrow, path());
  for (std::size_t i = 0; i < wide.storages().size(); ++i) {
    const Tensor got = narrow.storages()[i]->tensor(), expected = wide.storages()[i]->tensor();
    for (std::size_t k = 0; k < got.d.size(); ++k) {
      EXPECT_EQ(got.at(k), static_cast<double>(static_cast<float>(expected.at(k))));
    }
  }
  make();
  load_encoder(again, path());
  ParameterCollection own;
  load_encoder(own, path());
  for (std::size_t i = 0; i < own.storages().size(); ++i) {
    const Tensor got = again.storages()[i]->tensor(), expected = own.storages()[i]->tensor();
    for (std::size_t k = 0; k < got.d.size(); ++k) EXPECT_EQ(got.at(k), expected.at(k));
  }
}

TEST_F(PublishedFormsTest, ReportsWhatIsMissingOrLeftOver) {
  make();
  const std::vector<float> expected = output();
  std::vector<FileTensor> all = tensors();
  const FileTensor first = all.front();
  all.push_back({"span_head.weight", "F32", {2}, std::vector<std::byte>(8)});
  write(all);
  EXPECT_EQ(error(),
            "[load_encoder] need no tensors but those of a bert encoder; got span_head.weight, F32 "
            "[2]: if "
            "it belongs to a head, pass EncoderFileOptions::report");
  LoadReport report;
  EXPECT_TRUE(testing::same(output({.report = &report}), expected));
  EXPECT_EQ(report.missing, std::vector<std::string>());
  EXPECT_EQ(report.left_over, std::vector<std::string>{"span_head.weight"});

  all.erase(all.begin());
  write(all);
  ParameterCollection model(5);
  const Encoder encoder = load_encoder(model, path(), {.name = "own", .report = &report});
  EXPECT_EQ(report.missing, std::vector<std::string>{first.name});
  // It has new weights, and the others are read.
  unsigned equal = 0;
  encoder.save(path("copy"));
  const auto copy = SafetensorsFile::read(path("copy/model.safetensors"));
  for (const FileTensor& each : all) {
    const TensorEntry* const entry = copy.find(each.name);
    equal += entry != nullptr && std::ranges::equal(entry->bytes, each.bytes) ? 1 : 0;
  }
  EXPECT_EQ(equal, all.size() - 1);
  const TensorEntry* const drawn = copy.find(first.name);
  EXPECT_FALSE(std::ranges::all_of(drawn->bytes, [](std::byte b) { return b == std::byte(0); }));

  all.front().shape = {1, 2, 3};
  all.front().bytes.resize(24);
  write(all);
  output({.report = &report});
  ASSERT_EQ(report.mismatched.size(), 1u);
  EXPECT_EQ(report.mismatched[0].name, all.front().name);
  EXPECT_EQ(report.mismatched[0].found, "F32 [1, 2, 3]");
}

// RoBERTa's positions count the pieces that are not padding.
TEST_F(PublishedFormsTest, PaddingInsideATextHasNoPlace) {
  for (const std::string& family : kFamilies) {
    SCOPED_TRACE(family);
    make(family);
    ParameterCollection model;
    const Encoder encoder = load_encoder(model, path());
    if (!encoders::find_family(family)->counts_from_padding) continue;
    const LookupParameter table(model.find("/encoder/positions/E"));
    const auto of = [&](const Ids& ids) {
      ComputationGraph graph;
      return as_vector(encoder(graph, ids).value());
    };
    const std::vector<float> before = of({5, 1, 6}), without = of({5, 6, 7});
    table.initialize(4, std::vector<float>(8, 0.5f));  // of the third piece
    EXPECT_TRUE(testing::same(of({5, 1, 6}), before));
    EXPECT_FALSE(testing::same(of({5, 6, 7}), without));
    table.initialize(1, std::vector<float>(8, 0.5f));  // of padding
    EXPECT_FALSE(testing::same(of({5, 1, 6}), before));
  }
}

// As nn.Embedding with padding_idx.
TEST_F(PublishedFormsTest, TheRowOfPaddingIsNotTrained) {
  for (const std::string& family : kFamilies) {
    SCOPED_TRACE(family);
    ParameterCollection model;
    const Encoder encoder(model, small_config(family));
    const std::uint32_t padding = encoder.config().padding;
    const LookupParameter table(model.find("/encoder/words/E"));
    Minibatch batch;
    batch.add_loss(squared_norm(sin(encoder(batch.new_graph(), {5, padding, 6}))));
    batch.forward();
    const std::vector<float> gradient = batch.backward().all_values(*table.p);
    const auto norm_of = [&](std::uint32_t row) {
      float sum = 0;
      const std::size_t size = gradient.size() / encoder.config().vocabulary;
      for (std::size_t i = 0; i < size; ++i) sum += std::abs(gradient[row * size + i]);
      return sum;
    };
    EXPECT_EQ(norm_of(padding), 0);
    EXPECT_GT(norm_of(5), 0);
    EXPECT_GT(norm_of(6), 0);
  }
}

TEST(PublishedConfigsTest, NumbersThatOnlyPythonWrites) {
  const EncoderConfig config = EncoderConfig::from_text(
      R"({"model_type": "bert", "a": NaN, "b": [Infinity, -Infinity], "c\"NaN": "NaN\\", "vocab_size": 7})");
  EXPECT_EQ(config.vocabulary, 7u);
  EXPECT_EQ(message_of<FileError>([] {
              EncoderConfig::from_text(R"({"model_type": "bert", "layer_norm_eps": NaN})");
            }),
            "config.json: [EncoderConfig] need layer_norm_eps to be a number; got \"NaN\"");
}

TEST(PublishedConfigsTest, FamiliesByArchitectures) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"BertForMaskedLM", "bert"},
      {"BertModel", "bert"},
      {"BertLMHeadModel", "bert"},
      {"RobertaForSequenceClassification", "roberta"},
      {"XLMRobertaModel", "xlm-roberta"},
      {"CamembertForMaskedLM", "camembert"},
      {"DistilBertModel", "distilbert"},
      {"ElectraForPreTraining", "electra"},
      {"ModernBertForMaskedLM", "modernbert"},
      {"MPNetModel", "mpnet"},
      {"ErnieModel", "ernie"},
      {"Data2VecTextModel", "data2vec-text"}};
  for (const auto& [architecture, family] : cases) {
    EXPECT_EQ(
        EncoderConfig::from_text("{\"architectures\": [\"" + architecture + "\"]}").model_type,
        family);
  }
  for (const std::string other :
       {"BertGenerationEncoder", "RobertaPreLayerNormModel", "GPT2Model"}) {
    EXPECT_EQ(message_of<FileError>(
                  [&] { EncoderConfig::from_text("{\"architectures\": [\"" + other + "\"]}"); }),
              "config.json: [EncoderConfig] need model_type to be one of bert, ernie, roberta, "
              "xlm-roberta, camembert, data2vec-text, mpnet, distilbert, electra, modernbert, "
              "deberta-v2; got none and the architectures [\"" +
                  other + "\"]");
  }
}

TEST(PublishedConfigsTest, WhatIsRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("model_type": "bert", "auto_map": {"AutoModel": "own.Model"})",
       "need auto_map/AutoModel to be null; got \"own.Model\""},
      {R"("model_type": "ernie", "use_task_id": true)", "need use_task_id to be false; got true"},
      {R"("model_type": "deberta-v2")", "need the key position_buckets; got none"},
      {R"("model_type": "modernbert", "rope_scaling": {"factor": 2})",
       "need rope_scaling to be null; got {\"factor\":2}"},
      {R"("model_type": "roberta", "position_embedding_type": "relative_key_query")",
       "need position_embedding_type to be \"absolute\"; got \"relative_key_query\""}};
  for (const auto& [config, message] : cases) {
    EXPECT_EQ(
        message_of<FileError>([&text = config] { EncoderConfig::from_text('{' + text + '}'); }),
        "config.json: [EncoderConfig] " + message);
  }
}

// By hand, from the reference's formula: 32 rows, of which 8 on each side are for a distance each.
TEST(BiasesTest, RowsOfDistances) {
  const std::vector<std::pair<int, unsigned>> expected = {
      {0, 0},     {-1, 1},    {-7, 7}, {-8, 8}, {-11, 8}, {-12, 9},  {-127, 15},
      {-128, 15}, {-999, 15}, {1, 17}, {7, 23}, {8, 24},  {127, 31}, {999, 31}};
  for (const auto& [distance, row] : expected) {
    EXPECT_EQ(encoders::bias_row_of(distance), row) << distance;
  }
}

}  // namespace
}  // namespace dynet_like::nn
