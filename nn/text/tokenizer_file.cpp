// Reads tokenizer.json: its components, and the tokens that are added to those of the model.
#include <unordered_map>
#include <utility>

#include "dynet_like/core/text.h"
#include "dynet_like/io/input_file.h"
#include "nn/text/components.h"
#include "nn/text/tokenizer_parts.h"

namespace dynet_like::nn::text {

namespace {

/// Reads added tokens, and adds to `pieces` those that the model lacks, with the next ids. Of
/// tokens with the same id, the last counts.
std::vector<AddedToken> read_added_tokens(const JsonEntry& list, Pieces& pieces) {
  std::vector<AddedToken> tokens;
  std::unordered_map<std::uint32_t, std::size_t> places;  // by id
  std::uint64_t next = pieces.count();
  list.each_item([&](const JsonEntry& entry) {
    entry.allow({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    AddedToken token;
    token.content = entry.at("content").text();
    if (token.content.empty()) return;
    token.single_word = entry.at("single_word").flag();
    token.lstrip = entry.at("lstrip").flag();
    token.rstrip = entry.at("rstrip").flag();
    token.normalized = entry.at("normalized").flag();
    token.special = entry.at("special").flag();
    const std::optional<std::uint32_t> known = pieces.find(token.content);
    const std::uint64_t id = known ? *known : next++;
    if (const JsonEntry said = entry.at("id"); said.number() != id) {
      said.need("the id " + std::to_string(id) + " of " + detail::quoted_text(token.content) +
                (known ? ", as in the model" : ", the next one"));
    }
    if (!known) entry.checked([&] { pieces.add(token.content, id); });
    token.id = static_cast<std::uint32_t>(id);
    const auto [place, is_new] = places.emplace(token.id, tokens.size());
    if (is_new) {
      tokens.push_back(std::move(token));
    } else {
      tokens[place->second] = std::move(token);
    }
  });
  return tokens;
}

/// All pieces that a template adds must be there.
void check_ids(const Template& items, const Pieces& pieces, const JsonEntry& entry) {
  for (const TemplateItem& item : items) {
    for (const std::uint32_t id : item.ids) {
      if (id < pieces.size()) continue;
      entry.fail("need ids below " + std::to_string(pieces.size()) + "; got " +
                 detail::index_text(id));
    }
  }
}

/// Other programs have files of the same name. That of Keras is an object, or a text with one in
/// it.
void check_kind(const JsonEntry& root) {
  constexpr const char* kNeed =
      "need a tokenizer of Hugging Face's library, with the key \"model\"; ";
  const bool is_text = root.is_text();
  if (is_text ? root.text().find("\"class_name\"") != std::string::npos
              : root.find("class_name") && !root.find("model")) {
    root.fail(std::string(kNeed) + "got one of Keras, which is a list of words");
  }
  if (!is_text && !root.find("model")) root.fail(std::string(kNeed) + "got other keys");
}

}  // namespace

std::string read_tokenizer_file(const std::string& path) {
  return dynet_like::detail::read_text(path, "tokenizer.json", std::uint64_t{1} << 28);
}

std::shared_ptr<const TokenizerParts> parse_tokenizer(std::string_view json,
                                                      const std::string& file) {
  const JsonEntry root = JsonEntry::parse(json, file);
  check_kind(root);
  root.allow({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
              "post_processor", "decoder", "model"});
  if (const auto version = root.find("version")) version->choice<int>({{"1.0", 1}});
  for (const char* key : {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    constexpr std::size_t kMostValues = 5000;  // published files have up to 50
    if (const auto entry = root.find(key)) entry->check_values(kMostValues);
  }
  auto parts = std::make_shared<TokenizerParts>();
  if (const auto entry = root.find("normalizer")) parts->normalizer = read_normalizer(*entry);
  if (const auto entry = root.find("pre_tokenizer")) {
    parts->pre_tokenizers = read_pre_tokenizer(*entry);
  }
  parts->model = read_model(root.at("model"));
  parts->pieces = parts->model->pieces();
  if (const auto list = root.find("added_tokens")) {
    std::vector<AddedToken> tokens = read_added_tokens(*list, parts->pieces);
    list->checked([&] { parts->added_tokens = AddedTokens(std::move(tokens), parts->normalizer); });
  }
  for (const AddedToken& token : parts->added_tokens.all()) {
    parts->added_texts.emplace(token.id, token.text);
    if (token.special) parts->special_texts.insert(token.content);
  }
  if (const auto entry = root.find("decoder")) parts->decoder = read_decoder(*entry);
  if (const auto entry = root.find("post_processor")) {
    parts->post_processor = read_post_processor(*entry);
    check_ids(parts->post_processor.single, parts->pieces, *entry);
    check_ids(parts->post_processor.pair, parts->pieces, *entry);
  }
  return parts;
}

}  // namespace dynet_like::nn::text
