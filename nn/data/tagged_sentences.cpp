// Words and tags: read line by line from columns, or taken from CoNLL-U sentences.
#include "nn/data/tagged_sentences.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "dynet_like/core/counted.h"
#include "nn/data/conllu.h"

namespace dynet_like::nn {

namespace {

constexpr std::string_view kDocument = "-DOCSTART-";

// Reads sentences, line by line.
class ColumnsParser {
 public:
  explicit ColumnsParser(const TaggedColumns& columns)
      : columns_(columns), last_(std::max(columns.word, columns.tag)) {
    if (columns.count == 0 || last_ < columns.count) return;
    throw UsageError("[read_columns] need a word and a tag among " +
                     detail::counted(columns.count, "column") + ", counted from 0; got columns " +
                     std::to_string(columns.word) + " and " + std::to_string(columns.tag));
  }

  void add(const TextLine& line) {
    if (line.text.find_first_not_of(" \t") == line.text.npos) return finish();
    if (columns_.comments && sentence_.words.empty() && line.text.starts_with('#')) return;
    if (is_document(line.text)) return finish();
    const std::vector<std::string_view> columns = split(line);
    if (columns[columns_.word] == kDocument) return finish();
    if (columns[columns_.word].empty()) {
      line.fail("need a word; got nothing", columns[columns_.word]);
    }
    if (columns[columns_.tag].empty()) {
      line.fail("need a tag; got nothing", columns[columns_.tag]);
    }
    sentence_.words.emplace_back(columns[columns_.word]);
    sentence_.tags.emplace_back(columns[columns_.tag]);
  }

  void finish() {
    if (!sentence_.words.empty()) sentences_.push_back(std::exchange(sentence_, {}));
  }
  /// All sentences, after the last line. Throws FileError if there are none.
  std::vector<TaggedSentence> take(const std::string& file) {
    finish();
    if (sentences_.empty()) throw FileError(file, "need at least one sentence; got none");
    return std::move(sentences_);
  }

 private:
  // Such a line may lack the other columns, so it does not determine their number.
  bool is_document(std::string_view text) const {
    const std::string_view blanks = columns_.by_spaces ? " \t" : "\t";
    if (columns_.by_spaces) text.remove_prefix(text.find_first_not_of(blanks));
    if (!text.starts_with(kDocument)) return false;
    text.remove_prefix(kDocument.size());
    if (text.find_first_not_of(" \t") == text.npos) return true;
    return columns_.word == 0 && blanks.find(text.front()) != blanks.npos;
  }

  std::vector<std::string_view> split(const TextLine& line) {
    if (columns_.count > 0 && !columns_.by_spaces) return line.columns(columns_.count);
    std::vector<std::string_view> result = columns_.by_spaces ? line.words() : line.columns();
    if (columns_.count == 0 && result.size() > last_) columns_.count = result.size();
    if (result.size() == columns_.count) return result;
    line.fail("need " +
              (columns_.count > 0 ? detail::counted(columns_.count, "column")
                                  : "more than " + detail::counted(last_, "column")) +
              " with " + (columns_.by_spaces ? "spaces" : "tabs") + " between them; got " +
              std::to_string(result.size()));
  }

  TaggedColumns columns_;
  std::size_t last_;  // number of the last column that is used
  TaggedSentence sentence_;
  std::vector<TaggedSentence> sentences_;
};

std::vector<TaggedSentence> tagged(std::vector<ConlluSentence> sentences) {
  std::vector<TaggedSentence> result;
  for (ConlluSentence& sentence : sentences) {
    TaggedSentence& next = result.emplace_back();
    for (ConlluColumns& word : sentence.words) {
      next.words.push_back(std::move(word.form));
      next.tags.push_back(std::move(word.upos));
    }
  }
  return result;
}

constexpr std::string_view kColumns = "global.columns";

// The names of the columns, from the first line of a CoNLL-U Plus file.
std::vector<std::string_view> column_names(const TextLine& line) {
  std::vector<std::string_view> words = line.words();
  if (!words.empty() && words[0].starts_with('#')) words[0].remove_prefix(1);
  if (!words.empty() && words[0].empty()) words.erase(words.begin());
  if (words.size() > 2 && words[0] == kColumns && words[1] == "=") {
    return {words.begin() + 2, words.end()};
  }
  line.fail("need the names of columns, \"# global.columns = ID FORM ...\"; got " +
            detail::quoted_text(line.text));
}

}  // namespace

std::vector<TaggedSentence> read_conllu_plus(TextSource source, const std::string& tag,
                                             const std::string& word, const TextLimits& limits) {
  LineReader lines(std::move(source), limits);
  const TextLine first = lines.next().value_or(TextLine{"", lines.name(), 0});
  const std::vector<std::string_view> names = column_names(first);
  const auto place_of = [&](std::string_view name) {
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    first.fail("need a column " + detail::quoted_text(name) + "; got none");
  };
  const std::size_t id = place_of("ID");
  const TaggedColumns columns = {
      .count = names.size(), .word = place_of(word), .tag = place_of(tag), .comments = true};
  ColumnsParser parser(columns);
  while (const auto line = lines.next()) {
    const bool has_id = !line->text.empty() && !line->text.starts_with('#');
    // Ranges "3-4" and empty nodes "5.1" are no words.
    const bool is_word =
        !has_id || line->columns(columns.count)[id].find_first_of("-.") == std::string_view::npos;
    if (is_word) parser.add(*line);
  }
  return parser.take(lines.name());
}

std::vector<std::uint32_t> sizes_of(std::span<const TaggedSentence> sentences) {
  std::vector<std::uint32_t> sizes;
  sizes.reserve(sentences.size());
  for (const TaggedSentence& sentence : sentences) {
    sizes.push_back(static_cast<std::uint32_t>(sentence.words.size()));
  }
  return sizes;
}

std::vector<TaggedSentence> read_conllu_tags(TextSource source, const TextLimits& limits) {
  return tagged(read_conllu(std::move(source), limits));
}

std::vector<TaggedSentence> read_columns(TextSource source, const TaggedColumns& columns) {
  ColumnsParser parser(columns);
  LineReader lines(std::move(source), columns.limits);
  while (const auto line = lines.next()) {
    try {
      parser.add(*line);
    } catch (const FileError&) {
      if (columns.skipped_lines == nullptr) throw;
      ++*columns.skipped_lines;
    }
  }
  return parser.take(lines.name());
}

}  // namespace dynet_like::nn
