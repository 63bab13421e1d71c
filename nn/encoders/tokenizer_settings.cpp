// Settings as transformers 5 reads them: a list of tokens in tokenizer_config.json makes the other
// two files void.
#include "nn/encoders/tokenizer_settings.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <string_view>

#include "dynet_like/io/input_file.h"
#include "nn/encoders/family.h"
#include "nn/encoders/python_json.h"

namespace dynet_like::nn::encoders {

namespace {

constexpr std::uint64_t kMostSettingsBytes = 1 << 26;

// Keys of one token each.
constexpr const char* kSpecialTokens[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                          "pad_token", "cls_token", "mask_token"};
constexpr const char* kMoreSpecialTokens[] = {"additional_special_tokens", "extra_special_tokens"};

std::optional<JsonEntry> read(const std::string& folder, const char* name) {
  const auto path = std::filesystem::path(folder) / name;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  const std::string text =
      dynet_like::detail::read_text(path, "TokenizerSettings", kMostSettingsBytes);
  return JsonEntry::parse(standard_json(text), path.string());
}

// A text, or an object with the options of a token.
SettingsToken read_token(const JsonEntry& entry, bool is_special) {
  SettingsToken token;
  token.special = is_special;
  if (entry.is_text()) {
    token.content = entry.text();
    return token;
  }
  token.has_options = true;
  token.content = entry.at("content").text();
  token.single_word = entry.flag_or("single_word", false);
  token.lstrip = entry.flag_or("lstrip", false);
  token.rstrip = entry.flag_or("rstrip", false);
  token.special = entry.flag_or("special", is_special);
  token.normalized = entry.flag_or("normalized", !token.special);
  return token;
}

std::string without_fast(std::string name) {
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  return name;
}

struct KnownClass {
  const char* name;
  TokenizerKind kind;
};

constexpr KnownClass kClasses[] = {
    {"BertTokenizer", TokenizerKind::bert},         {"DistilBertTokenizer", TokenizerKind::bert},
    {"ElectraTokenizer", TokenizerKind::bert},      {"MPNetTokenizer", TokenizerKind::bert},
    {"RobertaTokenizer", TokenizerKind::roberta},   {"LongformerTokenizer", TokenizerKind::roberta},
    {"BartTokenizer", TokenizerKind::roberta},      {"XLMRobertaTokenizer", TokenizerKind::unigram},
    {"CamembertTokenizer", TokenizerKind::unigram}, {"DebertaV2Tokenizer", TokenizerKind::deberta},
};

// Classes whose way to cut texts no tokenizer.json can describe.
constexpr std::string_view kPrograms[] = {"BertJapaneseTokenizer", "BertweetTokenizer",
                                          "PhobertTokenizer"};

}  // namespace

TokenizerSettings::TokenizerSettings(const std::string& folder)
    : config_(read(folder, "tokenizer_config.json")),
      tokens_map_(read(folder, "special_tokens_map.json")),
      added_tokens_(read(folder, "added_tokens.json")),
      file_((std::filesystem::path(folder) / "tokenizer_config.json").string()),
      class_name_(class_of(folder)) {
  if (std::ranges::count(kPrograms, class_name_) > 0) {
    fail("tokenizer_class", "a class that tokenizer.json can describe; got " + class_name_);
  }
  for (const auto& [name, kind] : kClasses) {
    if (name == class_name_) kind_ = kind;
  }
  const std::optional<JsonEntry> sentences = read(folder, "sentence_bert_config.json");
  lowers_texts_ = sentences && sentences->flag_or("do_lower_case", false);
  if (flag("split_special_tokens").value_or(false)) {
    fail("split_special_tokens", "false: special tokens in a text are found; got true");
  }
}

// Of tokenizer_config.json, otherwise of config.json, otherwise the family's.
std::string TokenizerSettings::class_of(const std::string& folder) const {
  const std::optional<JsonEntry> encoder = read(folder, "config.json");
  const auto text_of = [](const std::optional<JsonEntry>& file, const char* key) {
    const std::optional<JsonEntry> found = file ? file->find(key) : std::nullopt;
    return found ? found->text() : std::string();
  };
  const Family* const family = find_family(text_of(encoder, "model_type"));
  if (family != nullptr && family->tokenizer.empty()) return "";
  for (const std::optional<JsonEntry>* const file : {&config_, &encoder}) {
    const std::string name = text_of(*file, "tokenizer_class");
    if (!name.empty()) return without_fast(name);
  }
  return family == nullptr ? "" : family->tokenizer;
}

bool TokenizerSettings::lists_tokens() const {
  return config_ && config_->find("added_tokens_decoder").has_value();
}

std::optional<JsonEntry> TokenizerSettings::find(const std::string& key) const {
  if (tokens_map_ && !lists_tokens()) {
    if (std::optional<JsonEntry> found = tokens_map_->find(key)) return found;
  }
  return config_ ? config_->find(key) : std::nullopt;
}

void TokenizerSettings::fail(const std::string& key, const std::string& need) const {
  throw FileError(file_, key + ": need " + need);
}

std::optional<bool> TokenizerSettings::flag(const std::string& key) const {
  const std::optional<JsonEntry> found = find(key);
  return found ? std::optional(found->flag()) : std::nullopt;
}

std::optional<SettingsToken> TokenizerSettings::special(const std::string& key) const {
  const std::optional<JsonEntry> found = find(key);
  return found ? std::optional(read_token(*found, true)) : std::nullopt;
}

std::vector<SettingsToken> TokenizerSettings::tokens_with_ids() const {
  std::vector<SettingsToken> all;
  if (lists_tokens()) {
    config_->at("added_tokens_decoder")
        .each_member([&](const std::string& id, const JsonEntry& entry) {
          SettingsToken token = read_token(entry, false);
          const char* const end = id.data() + id.size();
          std::uint64_t number = 0;
          const auto [rest, error] = std::from_chars(id.data(), end, number);
          if (error != std::errc() || rest != end) entry.need("an id as its key");
          token.id = number;
          all.push_back(std::move(token));
        });
  } else if (added_tokens_) {
    added_tokens_->each_member([&](const std::string& content, const JsonEntry& id) {
      SettingsToken token = {.content = content, .id = id.number()};
      token.normalized = true;
      all.push_back(std::move(token));
    });
  }
  std::ranges::sort(all, {}, [](const SettingsToken& token) { return *token.id; });
  return all;
}

std::vector<SettingsToken> TokenizerSettings::tokens() const {
  std::vector<SettingsToken> specials;
  for (const char* const key : kSpecialTokens) {
    if (const auto token = special(key)) specials.push_back(*token);
  }
  for (const char* const key : kMoreSpecialTokens) {
    const std::optional<JsonEntry> list = find(key);
    if (!list) continue;
    const auto add = [&](const JsonEntry& entry) { specials.push_back(read_token(entry, true)); };
    if (list->json().starts_with('[')) {
      list->each_item(add);
    } else {
      list->each_member([&](const std::string&, const JsonEntry& entry) { add(entry); });
    }
  }
  std::vector<SettingsToken> all = tokens_with_ids();
  std::set<std::string> known;
  for (SettingsToken& token : all) {
    known.insert(token.content);
    const auto same = std::ranges::find(specials, token.content, &SettingsToken::content);
    if (same == specials.end() || lists_tokens()) continue;
    token.special = true;  // added_tokens.json does not say it
    token.normalized = false;
  }
  for (SettingsToken& token : specials) {
    if (known.insert(token.content).second) all.push_back(std::move(token));
  }
  return all;
}

}  // namespace dynet_like::nn::encoders
