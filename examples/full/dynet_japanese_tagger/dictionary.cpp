// Reads the files of the dictionary, and has the rules for texts and words.
#include "examples/full/dynet_japanese_tagger/dictionary.h"

#include <algorithm>
#include <charconv>

#include "dynet_like/core/errors.h"
#include "nn/data/text_lines.h"

namespace dynet_like::examples {

namespace {

/// Calls take(key, numbers) for every line "key TAB numbers with spaces between them".
template <class Take>
void read_numbers(const std::string& path, const Take& take) {
  const nn::TextLimits limits;
  std::ifstream file = nn::open_text(path, limits);
  nn::LineReader reader(file, path, limits);
  std::vector<unsigned> numbers;
  for (std::string_view line; reader.next(line);) {
    numbers.clear();
    const std::size_t tab = line.rfind('\t');
    const char *at = line.data() + tab, *const end = line.data() + line.size();
    while (tab != line.npos && at < end) {
      const auto [next, error] = std::from_chars(at + 1, end, numbers.emplace_back());
      if (error != std::errc()) break;
      at = next;
    }
    if (tab == line.npos || at != end || numbers.empty()) {
      throw FileError(path, "need a key, a tab and numbers; got " + detail::quoted_text(line),
                      reader.number());
    }
    take(to_characters(line.substr(0, tab)), numbers);
  }
}

}  // namespace

Ids::Ids(const std::string& path) {
  read_numbers(path, [&](auto key, const auto& numbers) { ids_[key] = numbers.front(); });
  const unsigned* const unknown = find(U"oov");
  if (unknown == nullptr) throw FileError(path, "need a number of \"oov\"; got none");
  unknown_ = *unknown;
}

std::vector<std::string> Ids::keys_by_id() const {
  std::vector<std::string> keys(ids_.size());
  for (const auto& [key, id] : ids_) keys.at(id) = to_text(key);
  return keys;
}

Dictionary::Dictionary(const std::string& folder)
    : characters(folder + "/characters.tsv"),
      unigrams(folder + "/unigrams.tsv"),
      bigrams(folder + "/bigrams.tsv"),
      words(folder + "/words.tsv") {
  const Ids ids(folder + "/tags.tsv");
  tags = ids.keys_by_id();
  noun_ = ids[U"名詞"];
  read_numbers(folder + "/tags_of_words.tsv",
               [&](auto word, const auto& numbers) { tags_of_words_[word] = numbers; });
}

std::u32string Dictionary::prepared(std::string_view line) const {
  std::u32string text = to_characters(line);
  while (!text.empty() && characters.is_space(text.back())) text.pop_back();
  text = characters.normalized(text);
  std::replace(text.begin(), text.end(), U'İ', U'I');
  std::replace(text.begin(), text.end(), U' ', U'　');
  return text;
}

std::vector<unsigned> Dictionary::tags_of(const std::u32string& word) const {
  const auto found = tags_of_words_.find(word);
  std::vector<unsigned> all = found == tags_of_words_.end() ? std::vector{0u} : found->second;
  const auto is_plain = [&](char32_t c) { return characters.is_letter_or_digit(c); };
  if (std::all_of(word.begin(), word.end(), is_plain)) {  // probably a noun
    std::erase(all, 0u);
    if (std::find(all.begin(), all.end(), noun_) == all.end()) all.push_back(noun_);
    std::sort(all.begin(), all.end());
  }
  return all;
}

unsigned character_type(char32_t c) {
  const auto is_in = [&](char32_t first, char32_t last) { return first <= c && c <= last; };
  if (is_in(U'\u3040', U'\u309F')) return 0;
  if (is_in(U'\u30A1', U'\u30FA')) return 1;
  if (is_in(U'\u4E00', U'\u9FA5')) return 2;
  if (is_in(U'a', U'z') || is_in(U'A', U'Z')) return 3;
  return is_in(U'0', U'9') ? 4 : 5;
}

}  // namespace dynet_like::examples
