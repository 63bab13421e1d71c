// Fuzzes the small files of an encoder's folder, which has weights: the input is cut at zero bytes,
// a file each. What is refused adds nothing to a model.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "dynet_like/io/safetensors.h"
#include "nn/encoders/python_json.h"
#include "nn/encoders/sentence_folder.h"
#include "nn/encoders/text_encoder.h"
#include "nn/encoders/tokenizer_folder.h"
#include "nn/text/tokenizer.h"
#include "tests/fuzz/fuzz.h"

namespace dynet_like::fuzz {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFiles[] = {"tokenizer_config.json",
                                  "special_tokens_map.json",
                                  "added_tokens.json",
                                  "tokenizer.json",
                                  "modules.json",
                                  "1_Pooling/config.json",
                                  "config_sentence_transformers.json",
                                  "vocab.txt",
                                  "vocab.json",
                                  "merges.txt",
                                  "config.json",
                                  "sentence_bert_config.json",
                                  "2_Dense/config.json"};

nn::EncoderConfig small_config() {
  nn::EncoderConfig config = nn::EncoderConfig::of("bert");
  config.vocabulary = 11;
  config.size = 8;
  config.hidden = 6;
  config.heads = 2;
  config.layers = 1;
  config.positions = 12;
  return config;
}

fs::path make_folder() {
  std::string pattern = (fs::temp_directory_path() / "encoder_folder_fuzz_XXXXXX").string();
  require(::mkdtemp(pattern.data()) != nullptr);
  static struct Remove {
    fs::path folder;
    ~Remove() {
      std::error_code ignored;
      fs::remove_all(folder, ignored);
    }
  } removes{pattern};
  fs::create_directory(removes.folder / "1_Pooling");
  fs::create_directory(removes.folder / "2_Dense");
  ParameterCollection model;
  nn::Encoder(model, small_config()).save(removes.folder.string());
  const std::vector<std::byte> zeros(64);
  const std::vector<TensorEntry> dense = {{"linear.weight", "F32", {2, 8}, zeros},
                                          {"linear.bias", "F32", {2}, std::span(zeros).first(8)}};
  write_safetensors(removes.folder / "2_Dense/model.safetensors", dense);
  return removes.folder;
}

// An input without a config.json has that of the weights.
void write(const fs::path& folder, std::string_view input) {
  static const std::string config = small_config().to_text();
  for (const char* const name : kFiles) {
    const std::string_view text = input.substr(0, input.find('\0'));
    input.remove_prefix(std::min(text.size() + 1, input.size()));
    std::error_code ignored;
    fs::remove(folder / name, ignored);
    const bool is_config = std::string_view(name) == "config.json";
    if (!text.empty() || is_config) {
      std::ofstream(folder / name, std::ios::binary) << (text.empty() ? config : text);
    }
  }
}

}  // namespace

void run(const std::string& input) {
  static const fs::path folder = make_folder();
  const std::string once = nn::encoders::standard_json(input);
  require(nn::encoders::standard_json(once) == once);
  write(folder, input);
  try {
    const std::string json = nn::tokenizer_of_folder(folder.string());
    nn::Tokenizer::from_text(json).encode("A b<c>");
  } catch (const FileError&) {
    // Refusing is right; anything else that is thrown is a finding.
  } catch (const UsageError&) {
    // An expression may need too many steps.
  }
  ParameterCollection model;
  try {
    const nn::TextEncoder encoder = nn::TextEncoder::load(model, folder.string());
    ComputationGraph graph({.inference = true});
    encoder.text(graph, "ab a c").value();
  } catch (const FileError&) {
    require(model.size() == 0);
  } catch (const UsageError&) {
    require(model.size() > 0);  // a text that this encoder cannot read
  }
  try {
    const nn::encoders::SentenceFolder sentence(folder.string());
    const std::string text = sentence.config.to_text();
    require(nn::encoders::SentenceConfig::from_text(text, "fuzz").to_text() == text);
  } catch (const FileError&) {
  }
}

}  // namespace dynet_like::fuzz
