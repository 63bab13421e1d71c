// The page of published encoders: small folders of every form that it lists.
#include "nn/encoders/family.h"
#include "tests/encoders/small_encoders.h"
#include "tests/encoders/torch_test.h"
#include "tests/support/precompiled.h"
#include "tests/support/source_text.h"

namespace dynet_like::nn {
namespace {

// The cells of the rows of a table, without backquotes and spaces around them.
std::vector<std::vector<std::string>> rows_behind(const std::string& page,
                                                  const std::string& heading) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(page.substr(page.find("\n## " + heading + "\n") + 4 + heading.size()));
  for (std::string line; std::getline(lines, line) && !line.starts_with("## ");) {
    if (!line.starts_with("| ")) continue;
    std::vector<std::string> cells;
    std::istringstream cell_stream(line.substr(1));
    for (std::string cell; std::getline(cell_stream, cell, '|');) {
      const std::size_t begin = cell.find_first_not_of(" `"), end = cell.find_last_not_of(" `");
      cells.push_back(begin == cell.npos ? "" : cell.substr(begin, end - begin + 1));
    }
    rows.push_back(cells);
  }
  if (!rows.empty()) rows.erase(rows.begin());  // the names of the columns
  return rows;
}

class PublishedPageTest : public EncoderFolder {
 protected:
  const std::string page_ = source_text(source_folder() + "/docs/published_encoders.md");

  /// The family of a new encoder, and what is done to its folder.
  struct Form {
    std::string family;
    std::vector<std::function<void()>> steps;
  };

  std::map<std::string, Form> forms() {
    const auto text = [this](const std::string& name, const std::string& contents) {
      return [=, this] { write_text(name, contents); };
    };
    const auto tokenizer =
        text("tokenizer.json", R"({"version":"1.0","pre_tokenizer":{"type":"WhitespaceSplit"},
        "model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",
        "max_input_chars_per_word":100,"vocab":{"[UNK]":0,"a":1}}})");
    const auto vocabulary = text("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n");
    const auto pieces = text("vocab.json", R"({"<s>":0,"<pad>":1,"</s>":2,"a":3,"b":4,"ab":5})");
    const auto merges = text("merges.txt", "#version: 0.2\na b\n");
    const auto config = [&](const std::string& json) { return text("config.json", json); };
    const auto torch = [this] {
      std::filesystem::rename(path("model.safetensors"), path("pytorch_model.bin"));
    };
    const auto shard = [this] {
      std::string map;
      for (const FileTensor& each : tensors()) {
        map += (map.empty() ? "\"" : ",\"") + each.name + "\":\"model-1.safetensors\"";
      }
      std::filesystem::rename(path("model.safetensors"), path("model-1.safetensors"));
      write_text("model.safetensors.index.json", "{\"weight_map\":{" + map + "}}");
    };
    const auto head = [this](const std::string& prefix, const std::string& name) {
      return [=, this] {
        std::vector<FileTensor> all = tensors();
        for (FileTensor& each : all) each.name = prefix + each.name;
        all.push_back({name, "F32", {2}, std::vector<std::byte>(8)});
        write(all);
      };
    };
    const auto modules = text("modules.json", R"([
        {"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
        {"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"},
        {"idx":2,"name":"2","path":"2_Normalize","type":"sentence_transformers.models.Normalize"}])");
    const auto pooling = text("1_Pooling/config.json", R"({"word_embedding_dimension":8})");
    const auto program = text("tokenizer_config.json", R"({"tokenizer_class":"PhobertTokenizer"})");
    return {
        {"standard", {"bert", {tokenizer}}},
        {"shards", {"bert", {tokenizer, shard}}},
        {"vocabulary", {"distilbert", {vocabulary}}},
        {"merges", {"roberta", {pieces, merges}}},
        {"head", {"xlm-roberta", {tokenizer, head("roberta.", "classifier.dense.bias")}}},
        {"sentence", {"mpnet", {tokenizer, modules, pooling}}},
        {"other head", {"bert", {tokenizer, head("bert.", "linear.weight")}}},
        {"torch", {"electra", {tokenizer, torch}}},
        {"torch, vocabulary", {"roberta", {pieces, merges, torch}}},
        {"torch, sentencepiece", {"deberta-v2", {text("spm.model", "x"), torch}}},
        {"program", {"roberta", {vocabulary, program}}},
        {"own code",
         {"bert",
          {tokenizer, config(R"({"model_type":"bert","auto_map":{"AutoModel":"code.Model"}})")}}},
        {"other family", {"bert", {tokenizer, config(R"({"model_type":"nomic_bert"})")}}},
        {"other setting",
         {"bert", {tokenizer, config(R"({"model_type":"ernie","use_task_id":true})")}}},
    };
  }
};

TEST_F(PublishedPageTest, FormsAreReadOrRefusedAsItSays) {
  const auto makers = forms();
  const auto rows = rows_behind(page_, "Forms");
  EXPECT_EQ(rows.size(), makers.size());
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 4u);
    SCOPED_TRACE(row[0]);
    const auto maker = makers.find(row[0]);
    ASSERT_NE(maker, makers.end());
    std::filesystem::remove_all(path());
    std::filesystem::create_directory(path());
    make(maker->second.family);
    for (const auto& step : maker->second.steps) step();
    ParameterCollection model;
    std::string message;
    try {
      const TextEncoder encoder = TextEncoder::load(model, path());
      ComputationGraph graph;
      EXPECT_EQ(encoder.text(graph, "a").dim(), Dim({8}));
    } catch (const FileError& error) {
      message = error.what();
      EXPECT_EQ(model.size(), 0u);
    }
    EXPECT_EQ(row[2], message.empty() ? "read" : "refused") << message;
    EXPECT_NE(message.find(row[3]), message.npos) << message;
  }
}

TEST_F(PublishedPageTest, ModelsHaveTheirFormsAndFamilies) {
  const auto makers = forms();
  const auto rows = rows_behind(page_, "Models");
  EXPECT_GE(rows.size(), 60u);
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 4u);
    SCOPED_TRACE(row[0]);
    EXPECT_TRUE(makers.contains(row[2]));
    EXPECT_EQ(encoders::find_family(row[1]) != nullptr, row[2] != "other family");
    EXPECT_EQ(!row[3].empty(), row[2] == "sentence" || row[0] == "BAAI/bge-m3");
  }
}

}  // namespace
}  // namespace dynet_like::nn
