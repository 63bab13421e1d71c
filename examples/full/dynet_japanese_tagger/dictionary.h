// The dictionary of a published tagger, and how it prepares a line of text.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "examples/full/dynet_japanese_tagger/characters.h"

namespace dynet_like::examples {

/// Lets maps find their keys by views of a text.
struct ViewHash : std::hash<std::u32string_view> {
  using is_transparent = void;
};
template <class Value>
using TextMap = std::unordered_map<std::u32string, Value, ViewHash, std::equal_to<>>;

/// Numbers of characters, pairs or words. Unknown keys have the number of "oov".
class Ids {
 public:
  /// Reads lines "key TAB number". Throws FileError.
  explicit Ids(const std::string& path);

  unsigned operator[](std::u32string_view key) const {
    const unsigned* const id = find(key);
    return id == nullptr ? unknown_ : *id;
  }
  const unsigned* find(std::u32string_view key) const {
    const auto found = ids_.find(key);
    return found == ids_.end() ? nullptr : &found->second;
  }
  unsigned unknown() const { return unknown_; }
  std::size_t size() const { return ids_.size(); }
  std::vector<std::string> keys_by_id() const;

 private:
  TextMap<unsigned> ids_;
  unsigned unknown_;
};

/// The dictionary's files, in a folder that scripts/nagisa_model.sh fills.
class Dictionary {
 public:
  /// Throws FileError.
  explicit Dictionary(const std::string& folder);

  /// A line as the tagger needs it: without spaces at its end, in normal form, and with ideographic
  /// spaces. Throws UsageError unless it is UTF-8.
  std::u32string prepared(std::string_view line) const;
  /// The numbers of the tags that a word may have, in ascending order.
  std::vector<unsigned> tags_of(const std::u32string& word) const;

  Characters characters;
  Ids unigrams, bigrams, words;
  std::vector<std::string> tags;

 private:
  TextMap<std::vector<unsigned>> tags_of_words_;
  unsigned noun_;
};

/// hiragana, katakana, kanji, Latin letters, digits, others: 0 to 5.
unsigned character_type(char32_t c);

}  // namespace dynet_like::examples
