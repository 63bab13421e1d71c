// Both formats have a word per line and blank lines between sentences: they differ in the lines.
#include "nn/data/tagged_sentences.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

namespace {

/// A line, and where it is for messages.
struct Line {
  std::string_view text;
  const std::string& file;
  std::size_t number;

  [[noreturn]] void fail(const std::string& what, std::string_view at = {}) const {
    const bool has_column = at.data() != nullptr;
    throw FileError(file, what, number,
                    has_column ? static_cast<std::size_t>(at.data() - text.data()) + 1 : 0);
  }

  /// The text between the tabs. Throws FileError unless it is in so many columns.
  template <std::size_t count>
  std::array<std::string_view, count> columns() const {
    const auto tabs = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\t'));
    if (tabs + 1 != count) {
      fail("need " + std::to_string(count) + " columns with tabs between them; got " +
           std::to_string(tabs + 1));
    }
    std::array<std::string_view, count> result;
    std::string_view rest = text;
    for (std::string_view& column : result) {
      column = rest.substr(0, rest.find('\t'));
      rest.remove_prefix(std::min(column.size() + 1, rest.size()));
    }
    return result;
  }
};

void add_word(const Line& line, std::string_view word, std::string_view tag,
              TaggedSentence& sentence) {
  if (word.empty()) line.fail("need a word; got nothing", word);
  if (tag.empty()) line.fail("need a tag; got nothing", tag);
  sentence.words.emplace_back(word);
  sentence.tags.emplace_back(tag);
}

/// Whether it is two numbers with `separator` between them.
bool is_pair(std::string_view text, char separator) {
  const auto is_number = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == part.npos;
  };
  const std::size_t middle = text.find(separator);
  return middle != text.npos && is_number(text.substr(0, middle)) &&
         is_number(text.substr(middle + 1));
}

void add_conllu_line(const Line& line, TaggedSentence& sentence) {
  if (line.text.starts_with('#')) return;
  const auto columns = line.columns<10>();
  const std::string_view id = columns[0];
  if (is_pair(id, '-') || is_pair(id, '.')) return;
  if (const std::string expected = std::to_string(sentence.words.size() + 1); id != expected) {
    line.fail("need the number " + expected + " of a word; got " + quoted_text(id), id);
  }
  add_word(line, columns[1], columns[3], sentence);
}

void add_columns_line(const Line& line, TaggedSentence& sentence) {
  const auto [word, tag] = line.columns<2>();
  add_word(line, word, tag, sentence);
}

std::vector<TaggedSentence> read(std::istream& stream, const std::string& file,
                                 const TextLimits& limits,
                                 void (*add_line)(const Line&, TaggedSentence&)) {
  LineReader lines(stream, file, limits);
  std::vector<TaggedSentence> sentences;
  TaggedSentence sentence;
  const auto finish = [&] {
    if (!sentence.words.empty()) sentences.push_back(std::exchange(sentence, {}));
  };
  std::string_view text;
  while (lines.next(text)) {
    if (text.find_first_not_of(" \t") == text.npos) {
      finish();
    } else {
      add_line({text, file, lines.number()}, sentence);
    }
  }
  finish();
  if (sentences.empty()) throw FileError(file, "need at least one sentence; got none");
  return sentences;
}

}  // namespace

std::vector<TaggedSentence> read_conllu(std::istream& stream, const std::string& file,
                                        const TextLimits& limits) {
  return read(stream, file, limits, add_conllu_line);
}

std::vector<TaggedSentence> read_conllu(const std::string& path, const TextLimits& limits) {
  std::ifstream stream = open_text(path, limits);
  return read_conllu(stream, path, limits);
}

std::vector<TaggedSentence> read_columns(std::istream& stream, const std::string& file,
                                         const TextLimits& limits) {
  return read(stream, file, limits, add_columns_line);
}

std::vector<TaggedSentence> read_columns(const std::string& path, const TextLimits& limits) {
  std::ifstream stream = open_text(path, limits);
  return read_columns(stream, path, limits);
}

}  // namespace dynet_like::nn
