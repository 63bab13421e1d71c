// Small encoders of every family, and their files.
#pragma once

#include "dynet_like/io/safetensors.h"
#include "nn/encoders/encoder.h"
#include "tests/support/folder_test.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {

using Ids = std::vector<std::uint32_t>;

inline const std::vector<std::string> kFamilies = {
    "bert",  "ernie",      "roberta", "xlm-roberta", "camembert", "data2vec-text",
    "mpnet", "distilbert", "electra", "modernbert",  "deberta-v2"};

/// The name of a test for a family, which has no "-".
inline std::string family_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
}

/// Without dropout; in ModernBERT, pieces see one on each side.
inline EncoderConfig small_config(const std::string& family) {
  EncoderConfig config = EncoderConfig::of(family);
  config.vocabulary = 11;
  config.size = 8;
  if (config.embedding_size > 0) config.embedding_size = 6;
  config.hidden = 6;
  config.heads = 2;
  config.layers = 2;
  config.positions = 12;
  config.padding = std::min(config.padding, 1u);
  config.window = 2;
  config.global_every = 2;
  if (family == "deberta-v2") config.position_buckets = 4;
  config.initial_deviation = 0.5f;
  config.embedding_dropout = config.attention_dropout = config.attention_output_dropout = 0;
  config.hidden_dropout = config.network_dropout = 0;
  return config;
}

/// A tensor that a test may change.
struct FileTensor {
  std::string name, dtype;
  std::vector<std::uint64_t> shape;
  std::vector<std::byte> bytes;
};

/// A folder of its own, with the files of an encoder.
class EncoderFolder : public FolderTest {
 protected:
  std::string path(const std::string& name = {}) const { return FolderTest::path(name); }

  /// Writes a new encoder to the folder.
  void make(const std::string& family = "bert") {
    ParameterCollection model(3);
    Encoder(model, small_config(family)).save(path());
  }

  std::vector<FileTensor> tensors() const {
    std::vector<FileTensor> all;
    const auto file = SafetensorsFile::read(path("model.safetensors"));
    for (const TensorEntry& entry : file.entries()) {
      all.push_back(
          {entry.name, entry.dtype, entry.shape, {entry.bytes.begin(), entry.bytes.end()}});
    }
    return all;
  }
  void write(const std::vector<FileTensor>& all, const std::string& name = "model.safetensors",
             const Metadata& metadata = {}) const {
    std::vector<TensorEntry> entries;
    for (const FileTensor& each : all)
      entries.push_back({each.name, each.dtype, each.shape, each.bytes});
    write_safetensors(path(name), entries, metadata);
  }
  /// Writes a file, and makes the folders that it is in.
  void write_text(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    FolderTest::write(text, name);
  }
  /// Replaces a part of config.json.
  void change_config(const std::string& from, const std::string& to) const {
    std::string text = contents("config.json");
    const std::size_t place = text.find(from);
    ASSERT_NE(place, std::string::npos) << from << " in " << text;
    write_text("config.json", text.replace(place, from.size(), to));
  }
};

}  // namespace dynet_like::nn
