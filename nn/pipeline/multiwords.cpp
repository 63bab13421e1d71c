// The table of multi-word tokens.
#include "nn/pipeline/multiwords.h"

#include <algorithm>
#include <cstddef>

#include "dynet_like/core/errors.h"
#include "nn/data/text.h"
#include "nn/data/text_lines.h"
#include "nn/data/word_normalisation.h"

namespace dynet_like::nn {

namespace {

std::string small(std::string_view text) { return normalised(text, {.lower_case = true}); }

/// The words, as a token with these characters writes them.
std::vector<std::string> as_written(std::string_view token, std::vector<std::string> words) {
  const auto letters = split_line(token, TextUnit::character);
  std::string joined;
  for (const std::string& word : words) joined += word;
  if (small(joined) == small(token) && count_characters(joined) == letters.size()) {
    std::size_t next = 0;
    for (std::string& word : words) {
      std::string written;
      for (std::size_t n = count_characters(word); n > 0; --n) written += letters[next++];
      word = written;
    }
    return words;
  }
  const bool is_capital = letters.front() != small(letters.front());
  if (is_capital && letters.size() > 1 && capitalised(token) == token) {
    for (std::string& word : words) word = capitalised(word);
  } else if (is_capital) {
    auto first = split_line(words.front(), TextUnit::character);
    first.front() = capitalised(first.front());
    words.front().clear();
    for (const std::string& letter : first) words.front() += letter;
  }
  return words;
}

}  // namespace

Multiwords::Multiwords(std::span<const ConlluSentence> sentences) {
  std::map<std::string, std::map<Words, std::size_t>> counts;
  for (const ConlluSentence& sentence : sentences) {
    for (const ConlluMultiword& token : sentence.multiwords) {
      Words words;
      for (std::uint32_t i = token.first; i <= token.last && i <= sentence.words.size(); ++i) {
        words.push_back(small(sentence.words[i - 1].form));
      }
      const std::string form = small(token.columns.form);
      if (words.size() < 2) continue;
      ++counts['=' + form][words];
      if (form.size() <= words[0].size() || !form.starts_with(words[0])) continue;
      const std::string ending = form.substr(words[0].size());
      words.erase(words.begin());
      ++counts['*' + ending][words];
    }
  }
  for (const auto& [key, of_key] : counts) {  // of equally frequent ones the first
    const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
    words_[key] = std::ranges::max_element(of_key, fewer)->first;
  }
}

std::vector<std::string> Multiwords::split(std::string_view token) const {
  if (token.empty()) return {std::string(token)};
  const std::string form = small(token);
  const auto whole = words_.find('=' + form);
  if (whole != words_.end()) return as_written(token, whole->second);
  const auto letters = split_line(form, TextUnit::character);
  std::size_t begin = 0;
  for (std::size_t i = 0; i + 1 < letters.size(); ++i) {  // the longest ending first
    begin += letters[i].size();
    const auto ending = words_.find('*' + form.substr(begin));
    if (ending == words_.end()) continue;
    Words words = ending->second;
    words.insert(words.begin(), form.substr(0, begin));
    return as_written(token, words);
  }
  return {std::string(token)};
}

std::string Multiwords::to_text() const {
  std::string text;
  for (const auto& [key, words] : words_) {
    text += key;
    for (const std::string& word : words) text += '\t' + word;
    text += '\n';
  }
  return text;
}

Multiwords Multiwords::from_text(std::string_view text, const std::string& file) {
  Multiwords table;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t size = std::min(text.find('\n'), text.size());
    const TextLine line = {text.substr(0, size), file, number};
    const std::vector<std::string_view> columns = line.columns();
    const bool is_whole = line.text.starts_with('='), is_ending = line.text.starts_with('*');
    const bool has_empty = std::ranges::any_of(columns, [](auto each) { return each.empty(); });
    if (has_empty || !(is_whole || is_ending) || columns.size() < (is_whole ? 3u : 2u)) {
      line.fail("need \"=TOKEN\" or \"*ENDING\" and its words, with tabs between them");
    }
    table.words_[std::string(columns[0])] = Words(columns.begin() + 1, columns.end());
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return table;
}

}  // namespace dynet_like::nn
