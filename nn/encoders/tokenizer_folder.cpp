// A tokenizer.json, from the file or made of a vocabulary, that settings change.
#include "nn/encoders/tokenizer_folder.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dynet_like/core/text.h"
#include "dynet_like/io/input_file.h"
#include "nn/encoders/tokenizer_settings.h"
#include "nn/encoders/vocabulary_files.h"
#include "nn/text/tokenizer_parts.h"

namespace dynet_like::nn {

using namespace encoders;
namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

// Calls f for a component, or for all parts of a sequence of them, that have one of these types.
void each_component(Json& component, std::string_view type, const std::function<void(Json&)>& f) {
  if (!component.is_object()) return;
  if (component.value("type", "") == type) f(component);
  for (const char* const list : {"normalizers", "pretokenizers", "processors"}) {
    if (!component.contains(list) || !component[list].is_array()) continue;
    for (Json& part : component[list]) each_component(part, type, f);
  }
}

bool has_component(Json& component, std::string_view type) {
  bool found = false;
  each_component(component, type, [&](Json&) { found = true; });
  return found;
}

// What a family's class does where a setting is absent.
Json or_default(const std::optional<bool>& setting, const Json& otherwise) {
  return setting ? Json(*setting) : otherwise;
}

// The class makes these components, whatever tokenizer.json has in their place.
void need_component(Json& component, const char* type, const TokenizerSettings& settings) {
  if (has_component(component, type)) return;
  settings.fail(
      "tokenizer_class",
      fmt::format("a tokenizer.json with a {} for {}; got none: PreTrainedTokenizerFast in "
                  "tokenizer_config.json reads the file as it is",
                  type, settings.class_name()));
}

void apply_bert(Json& tokenizer, const TokenizerSettings& settings) {
  need_component(tokenizer["pre_tokenizer"], "BertPreTokenizer", settings);
  need_component(tokenizer["normalizer"], "BertNormalizer", settings);
  each_component(tokenizer["normalizer"], "BertNormalizer", [&](Json& own) {
    own["lowercase"] = or_default(settings.flag("do_lower_case"), true);
    own["strip_accents"] = or_default(settings.flag("strip_accents"), nullptr);
    own["handle_chinese_chars"] = or_default(settings.flag("tokenize_chinese_chars"), true);
  });
}

void apply_roberta(Json& tokenizer, const TokenizerSettings& settings) {
  const Json add = or_default(settings.flag("add_prefix_space"), false);
  need_component(tokenizer["pre_tokenizer"], "ByteLevel", settings);
  each_component(tokenizer["pre_tokenizer"], "ByteLevel",
                 [&](Json& own) { own["add_prefix_space"] = add; });
  each_component(tokenizer["post_processor"], "RobertaProcessing", [&](Json& own) {
    own["add_prefix_space"] = add;
    own["trim_offsets"] = or_default(settings.flag("trim_offsets"), true);
  });
}

void apply_unigram(Json& tokenizer, const TokenizerSettings& settings) {
  const std::optional<bool> add = settings.flag("add_prefix_space");
  if (!add) return;
  const bool is_deberta = settings.kind() == TokenizerKind::deberta;
  each_component(tokenizer["pre_tokenizer"], "Metaspace", [&](Json& own) {
    own.erase("add_prefix_space");
    own["prepend_scheme"] = *add ? "always" : is_deberta ? "first" : "never";
  });
}

// The component, behind one that is new.
Json preceded(const Json& component, const char* list, Json added) {
  Json parts = Json::array({std::move(added)});
  if (!component.is_null()) parts.push_back(component);
  return {{"type", "Sequence"}, {list, parts}};
}

void lower_texts(Json& normalizer) {
  bool is_lower = has_component(normalizer, "Lowercase");
  each_component(normalizer, "BertNormalizer",
                 [&](Json& own) { is_lower = is_lower || own.value("lowercase", true); });
  if (!is_lower) normalizer = preceded(normalizer, "normalizers", {{"type", "Lowercase"}});
}

void apply_deberta(Json& tokenizer, const TokenizerSettings& settings) {
  apply_unigram(tokenizer, settings);
  if (settings.flag("do_lower_case").value_or(false)) lower_texts(tokenizer["normalizer"]);
  Json& pre_tokenizer = tokenizer["pre_tokenizer"];
  if (settings.flag("split_by_punct").value_or(false) &&
      !has_component(pre_tokenizer, "Punctuation")) {
    pre_tokenizer = preceded(pre_tokenizer, "pretokenizers",
                             {{"type", "Punctuation"}, {"behavior", "Isolated"}});
  }
}

// The texts of the tokens that are put around a text. Settings cannot change them.
void check_ends(const Json& tokenizer, const TokenizerSettings& settings) {
  const std::string shown = tokenizer.value("post_processor", Json()).dump();
  for (const char* const key : {"cls_token", "sep_token"}) {
    const auto token = settings.special(key);
    if (!token || shown.find(Json(token->content).dump()) != shown.npos) continue;
    settings.fail(key, "a token of tokenizer.json's post_processor; got " +
                           dynet_like::detail::quoted_text(token->content));
  }
}

void apply(Json& tokenizer, const TokenizerSettings& settings) {
  switch (settings.kind()) {
    case TokenizerKind::bert:
      check_ends(tokenizer, settings);
      return apply_bert(tokenizer, settings);
    case TokenizerKind::roberta:
      check_ends(tokenizer, settings);
      return apply_roberta(tokenizer, settings);
    case TokenizerKind::unigram:
      return apply_unigram(tokenizer, settings);
    case TokenizerKind::deberta:
      return apply_deberta(tokenizer, settings);
    case TokenizerKind::file:
      return;
  }
}

// The ids of the model's pieces; Unigram lists them by their ids.
std::unordered_map<std::string, std::uint64_t> ids_of(const Json& vocabulary) {
  std::unordered_map<std::string, std::uint64_t> ids;
  ids.reserve(vocabulary.size());
  if (vocabulary.is_object()) {
    for (const auto& [piece, id] : vocabulary.items()) ids[piece] = id.get<std::uint64_t>();
  } else {
    for (const Json& piece : vocabulary) ids.emplace(piece.at(0).get<std::string>(), ids.size());
  }
  return ids;
}

// Adds the tokens of the settings, and gives those that are there the options of the settings.
void add_tokens(Json& tokenizer, const TokenizerSettings& settings) {
  Json& list = tokenizer["added_tokens"];
  if (list.is_null()) list = Json::array();
  const auto ids = ids_of(tokenizer.at("model").at("vocab"));
  std::uint64_t next = ids.size();
  std::unordered_map<std::string, std::size_t> places;  // in the list
  for (const Json& token : list) {
    const std::string content = token.at("content").get<std::string>();
    if (!ids.contains(content)) ++next;
    places.emplace(content, places.size());
  }
  for (const SettingsToken& token : settings.tokens()) {
    if (token.content.empty()) continue;
    Json entry = {{"content", token.content},       {"single_word", token.single_word},
                  {"lstrip", token.lstrip},         {"rstrip", token.rstrip},
                  {"normalized", token.normalized}, {"special", token.special}};
    if (const auto known = places.find(token.content); known != places.end()) {
      Json& own = list[known->second];
      entry["id"] = own.at("id");
      if (token.id && token.has_options) own = std::move(entry);
      continue;
    }
    const auto own = ids.find(token.content);
    entry["id"] = token.id ? *token.id : own != ids.end() ? own->second : next;
    if (own == ids.end()) ++next;
    list.push_back(std::move(entry));
  }
}

Json parse(const std::string& json, const std::string& file) {
  JsonEntry::parse(json, file);  // refuses what is too deep or has too many values
  return Json::parse(json);
}

// The file with the settings; the same text if there are none.
std::string changed(std::string json, const std::string& file, const TokenizerSettings& settings) {
  const bool has_class = settings.has_config() && settings.kind() != TokenizerKind::file;
  if (!has_class && !settings.lowers_texts() && settings.tokens().empty()) return json;
  Json tokenizer = parse(json, file);
  try {
    if (has_class) apply(tokenizer, settings);
    if (settings.lowers_texts()) lower_texts(tokenizer["normalizer"]);
    add_tokens(tokenizer, settings);
    return tokenizer.dump();
  } catch (const Json::exception& error) {
    throw FileError(file, std::string("need a tokenizer of Hugging Face's form; got an error: ") +
                              error.what());
  }
}

}  // namespace

std::string tokenizer_of_folder(const std::string& folder) {
  const TokenizerSettings settings(folder);
  const fs::path path = fs::path(folder) / "tokenizer.json";
  std::error_code ignored;
  std::string json = fs::exists(path, ignored) ? text::read_tokenizer_file(path.string())
                                               : tokenizer_of_vocabulary(folder, settings);
  return changed(std::move(json), path.string(), settings);
}

}  // namespace dynet_like::nn
