// Fuzzes the small files of an encoder's folder: the input is cut at zero bytes, a file each.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "nn/encoders/python_json.h"
#include "nn/encoders/sentence_folder.h"
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
                                  "config.json"};

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
  return removes.folder;
}

void write(const fs::path& folder, std::string_view input) {
  for (const char* const name : kFiles) {
    const std::string_view text = input.substr(0, input.find('\0'));
    input.remove_prefix(std::min(text.size() + 1, input.size()));
    std::error_code ignored;
    fs::remove(folder / name, ignored);
    if (!text.empty()) std::ofstream(folder / name, std::ios::binary) << text;
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
  try {
    const nn::encoders::SentenceFolder sentence(folder.string());
    const std::string text = sentence.config.to_text();
    require(nn::encoders::SentenceConfig::from_text(text, "fuzz").to_text() == text);
  } catch (const FileError&) {
  }
}

}  // namespace dynet_like::fuzz
