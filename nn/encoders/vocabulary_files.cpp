// The tokenizers that transformers makes of these files.
#include "nn/encoders/vocabulary_files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/io/input_file.h"
#include "nn/text/json_entry.h"

namespace dynet_like::nn::encoders {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMostVocabularyBytes = 1 << 26;
constexpr std::size_t kMostLines = 1 << 22;  // the largest vocabularies have some 2^19

// A file of the folder, and its tokens by their roles.
class Vocabulary {
 public:
  Vocabulary(fs::path folder, const TokenizerSettings& settings)
      : folder_(std::move(folder)), settings_(settings) {}

  bool has(const char* name) const {
    std::error_code ignored;
    return fs::exists(folder_ / name, ignored);
  }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  std::string read(const char* name) const {
    return dynet_like::detail::read_text(folder_ / name, "tokenizer_of_folder",
                                         kMostVocabularyBytes);
  }
  const TokenizerSettings& settings() const { return settings_; }
  // The token of a key such as "cls_token".
  std::string token(const char* key, const char* otherwise) const {
    const auto own = settings_.special(key);
    return own ? own->content : otherwise;
  }

 private:
  fs::path folder_;
  const TokenizerSettings& settings_;
};

// A key such as "cls_token", and the token that it stands for unless the settings say another.
using SpecialTokens = std::vector<std::pair<const char*, const char*>>;

// The tokens that the settings do not name, if the vocabulary has them: they are found in texts as
// a whole.
Json added_tokens(const Json& ids, const SpecialTokens& all, const TokenizerSettings& settings) {
  Json list = Json::array();
  for (const auto& [key, content] : all) {
    const auto known = [text = content](const Json& token) { return token["content"] == text; };
    if (!ids.contains(content) || settings.special(key) || std::ranges::any_of(list, known)) {
      continue;
    }
    list.push_back({{"id", ids[content]},
                    {"content", content},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", false},
                    {"normalized", false},
                    {"special", true}});
  }
  return list;
}

Json token_with_id(const Json& ids, const std::string& content, const std::string& file) {
  if (ids.contains(content)) return {content, ids[content]};
  throw FileError(file, "need the token " + dynet_like::detail::quoted_text(content) +
                            ", which begins or ends texts; got a vocabulary without it");
}

// Calls f with the lines of a file and their places.
template <class F>
void each_line(const std::string& text, const std::string& file, const F& f) {
  std::size_t place = 0;
  for (std::size_t begin = 0; begin < text.size(); ++place) {
    if (place >= kMostLines) {
      throw FileError(file, "need at most " + dynet_like::detail::counted(kMostLines, "line"));
    }
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    f(std::string_view(text).substr(begin, end - begin), place);
    begin = end + 1;
  }
}

// One token in a line; its place is its id.
Json read_lines(const std::string& text, const std::string& file) {
  Json ids = Json::object();
  each_line(text, file, [&](std::string_view line, std::size_t id) {
    while (!line.empty() && std::string_view(" \t\r\v\f").find(line.back()) != line.npos) {
      line.remove_suffix(1);
    }
    ids[std::string(line)] = id;
  });
  return ids;
}

Json bert(const Vocabulary& files) {
  const std::string file = files.path("vocab.txt"), unknown = files.token("unk_token", "[UNK]"),
                    cls = files.token("cls_token", "[CLS]"),
                    sep = files.token("sep_token", "[SEP]");
  const Json ids = read_lines(files.read("vocab.txt"), file);
  return {{"version", "1.0"},
          {"added_tokens", added_tokens(ids,
                                        {{"pad_token", "[PAD]"},
                                         {"unk_token", "[UNK]"},
                                         {"cls_token", "[CLS]"},
                                         {"sep_token", "[SEP]"},
                                         {"mask_token", "[MASK]"}},
                                        files.settings())},
          {"normalizer", {{"type", "BertNormalizer"}}},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"post_processor",
           {{"type", "BertProcessing"},
            {"sep", token_with_id(ids, sep, file)},
            {"cls", token_with_id(ids, cls, file)}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", unknown},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 100},
            {"vocab", ids}}}};
}

// Lines with two pieces each, besides the first, which may be the version.
Json read_merges(const std::string& text, const std::string& file) {
  Json merges = Json::array();
  each_line(text, file, [&](std::string_view line, std::size_t) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with("#version")) merges.push_back(std::string(line));
  });
  return merges;
}

Json roberta(const Vocabulary& files) {
  const std::string file = files.path("vocab.json"), json = files.read("vocab.json");
  JsonEntry::parse(json, file).each_member([](const std::string&, const JsonEntry& id) {
    id.id();  // refuses all but ids
  });
  const Json ids = Json::parse(json);
  const std::string cls = files.token("cls_token", "<s>"), sep = files.token("sep_token", "</s>");
  return {{"version", "1.0"},
          {"added_tokens", added_tokens(ids,
                                        {{"bos_token", "<s>"},
                                         {"eos_token", "</s>"},
                                         {"unk_token", "<unk>"},
                                         {"sep_token", "</s>"},
                                         {"pad_token", "<pad>"},
                                         {"cls_token", "<s>"},
                                         {"mask_token", "<mask>"}},
                                        files.settings())},
          {"pre_tokenizer",
           {{"type", "ByteLevel"},
            {"add_prefix_space", false},
            {"trim_offsets", true},
            {"use_regex", true}}},
          {"post_processor",
           {{"type", "RobertaProcessing"},
            {"sep", token_with_id(ids, sep, file)},
            {"cls", token_with_id(ids, cls, file)},
            {"trim_offsets", true},
            {"add_prefix_space", false}}},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", ""},
            {"end_of_word_suffix", ""},
            {"fuse_unk", false},
            {"vocab", ids},
            {"merges", read_merges(files.read("merges.txt"), files.path("merges.txt"))}}}};
}

}  // namespace

std::string tokenizer_of_vocabulary(const std::string& folder, const TokenizerSettings& settings) {
  const Vocabulary files(folder, settings);
  const bool is_bert =
      settings.kind() == TokenizerKind::bert && settings.class_name() != "MPNetTokenizer";
  const bool has_both = files.has("vocab.json") && files.has("merges.txt");
  try {
    if (is_bert && files.has("vocab.txt")) return bert(files).dump();
    if (settings.kind() == TokenizerKind::roberta && has_both) return roberta(files).dump();
  } catch (const Json::exception& error) {
    throw FileError(files.path(is_bert ? "vocab.txt" : "vocab.json"),
                    std::string("need text in UTF-8; got an error: ") + error.what());
  }
  std::vector<std::string> there;
  for (const char* const name : {"vocab.txt", "vocab.json", "merges.txt", "bpe.codes", "spm.model",
                                 "sentencepiece.bpe.model", "spiece.model"}) {
    if (files.has(name)) there.push_back(name);
  }
  throw FileError(
      files.path("tokenizer.json"),
      fmt::format(
          "[tokenizer_of_folder] need this file, or vocab.txt of a BertTokenizer, or "
          "vocab.json and merges.txt of a RobertaTokenizer; got {} of {}: "
          "AutoTokenizer.from_pretrained(folder).save_pretrained(folder) makes this file",
          there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", ")),
          settings.class_name().empty() ? "a tokenizer without a class" : settings.class_name()));
}

}  // namespace dynet_like::nn::encoders
