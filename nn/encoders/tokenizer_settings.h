// What the files beside a tokenizer.json say of a tokenizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nn/text/json_entry.h"

namespace dynet_like::nn::encoders {

/// A token that is found in texts as a whole.
struct SettingsToken {
  std::string content;
  std::optional<std::uint64_t> id;
  bool has_options = false;  ///< whether the files say the options that follow
  bool single_word = false, lstrip = false, rstrip = false, normalized = false, special = false;
};

/// Which class of Hugging Face's transformers a tokenizer has, by what its settings change.
enum class TokenizerKind : std::uint8_t {
  bert,     ///< settings of BertNormalizer
  roberta,  ///< add_prefix_space and trim_offsets
  unigram,  ///< add_prefix_space of a Metaspace, if it is set
  deberta,  ///< the same, do_lower_case and split_by_punct
  file,     ///< none: all is in tokenizer.json
};

/// The files tokenizer_config.json, special_tokens_map.json and added_tokens.json, with what
/// config.json and sentence_bert_config.json say of the tokenizer.
class TokenizerSettings {
 public:
  /// Throws FileError for files that are malformed, and for a class that is a program of its own.
  explicit TokenizerSettings(const std::string& folder);

  /// Whether texts are lower-cased before all else.
  bool lowers_texts() const { return lowers_texts_; }
  /// Whether there is a tokenizer_config.json. Without it, a class changes nothing.
  bool has_config() const { return config_.has_value(); }
  const std::string& class_name() const { return class_name_; }
  TokenizerKind kind() const { return kind_; }

  /// The value of a key; empty if it is absent or null.
  std::optional<JsonEntry> find(const std::string& key) const;
  /// Fails with the file and the key.
  [[noreturn]] void fail(const std::string& key, const std::string& need) const;
  std::optional<bool> flag(const std::string& key) const;
  /// A special token such as "cls_token".
  std::optional<SettingsToken> special(const std::string& key) const;
  /// All tokens of the settings: those with ids first, in the order of the ids.
  std::vector<SettingsToken> tokens() const;

 private:
  std::string class_of(const std::string& folder) const;
  std::vector<SettingsToken> tokens_with_ids() const;
  bool lists_tokens() const;

  std::optional<JsonEntry> config_, tokens_map_, added_tokens_;
  std::string file_, class_name_;
  TokenizerKind kind_ = TokenizerKind::file;
  bool lowers_texts_ = false;
};

}  // namespace dynet_like::nn::encoders
