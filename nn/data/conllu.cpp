// Reads and writes CoNLL-U. The format fixes the order of the lines, so it need not be stored.
#include "nn/data/conllu.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "dynet_like/core/counted.h"
#include "dynet_like/io/atomic_file.h"

namespace dynet_like::nn {

namespace {

constexpr std::array<const char*, 10> kNames = {"ID",    "FORM", "LEMMA",  "UPOS", "XPOS",
                                                "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"};
constexpr std::size_t kHead = 6;

/// The columns that are text, and their numbers in the file.
constexpr std::array<std::pair<std::size_t, std::string ConlluColumns::*>, 8> kTexts = {{
    {1, &ConlluColumns::form},
    {2, &ConlluColumns::lemma},
    {3, &ConlluColumns::upos},
    {4, &ConlluColumns::xpos},
    {5, &ConlluColumns::feats},
    {7, &ConlluColumns::deprel},
    {8, &ConlluColumns::deps},
    {9, &ConlluColumns::misc},
}};

/// A number; nothing if it is written in another way, such as "01".
std::optional<std::uint32_t> parse_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc{} && end == text.data() + text.size();
  // Heads are signed, so that "_" has a value, too.
  if (!is_whole || number > 0x7fffffff || (text.size() > 1 && text[0] == '0')) return {};
  return number;
}

/// The numbers of "3-4" or "5.1".
std::optional<std::pair<std::uint32_t, std::uint32_t>> parse_pair(std::string_view text,
                                                                  char separator) {
  const std::size_t middle = text.find(separator);
  if (middle == text.npos) return {};
  const auto first = parse_number(text.substr(0, middle));
  const auto second = parse_number(text.substr(middle + 1));
  if (!first || !second) return {};
  return std::pair(*first, *second);
}

/// Reads sentences, line by line.
class SentenceParser {
 public:
  void add(const TextLine& line) {
    last_line_ = line.number;
    // A carriage return at the end of a line would be lost.
    if (line.text.find('\r') != line.text.npos) line.fail("need a line without carriage returns");
    if (line.text.starts_with('#')) {
      if (!lines_.empty() || !sentence_.multiwords.empty() || !sentence_.empty_nodes.empty()) {
        line.fail("need comments in front of the words only; got one behind");
      }
      sentence_.comments.emplace_back(line.text);
      return;
    }
    const std::vector<std::string_view> columns = line.columns(kNames.size());
    for (std::size_t i = 1; i < columns.size(); ++i) {
      if (columns[i].empty()) {
        line.fail(std::string("need text or \"_\" as ") + kNames[i] + "; got nothing", columns[i]);
      }
    }
    const std::string_view id = columns[0];
    if (const auto range = parse_pair(id, '-')) return add_multiword(line, *range, columns);
    if (const auto place = parse_pair(id, '.')) return add_empty_node(line, *place, columns);
    if (parse_number(id) != next()) fail_number(line, id);
    sentence_.words.push_back(parse(line, columns, true));
    lines_.push_back(line.number);
  }

  /// Adds the current sentence to the others, if there is one.
  void finish(const std::string& file, std::vector<ConlluSentence>& sentences) {
    if (sentence_ == ConlluSentence{}) return;
    const std::size_t count = sentence_.words.size();
    if (count == 0) throw FileError(file, "need a word in every sentence; got none", last_line_);
    const std::string words = "; the sentence has words 1 to " + std::to_string(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t head = sentence_.words[i].head;
      if (head > static_cast<std::int64_t>(count)) {
        throw FileError(file, "need a word or 0 as HEAD; got " + std::to_string(head) + words,
                        lines_[i]);
      }
    }
    // Ranges do not overlap, so only the last one can go too far.
    if (!sentence_.multiwords.empty() && sentence_.multiwords.back().last > count) {
      const std::uint32_t last = sentence_.multiwords.back().last;
      throw FileError(file, "need a range of words; got one to " + std::to_string(last) + words,
                      multiword_line_);
    }
    sentences.push_back(std::move(sentence_));
    sentence_ = {};
    lines_.clear();
  }

 private:
  std::uint32_t next() const { return static_cast<std::uint32_t>(sentence_.words.size()) + 1; }

  [[noreturn]] void fail_number(const TextLine& line, std::string_view id) const {
    line.fail(
        "need the number " + std::to_string(next()) + " of a word; got " + detail::quoted_text(id),
        id);
  }

  void add_multiword(const TextLine& line, std::pair<std::uint32_t, std::uint32_t> range,
                     const std::vector<std::string_view>& columns) {
    const bool overlaps =
        !sentence_.multiwords.empty() && sentence_.multiwords.back().last >= range.first;
    if (range.first != next() || range.second < range.first || overlaps) {
      line.fail("need a range that begins with the next word, " + std::to_string(next()) +
                    ", and overlaps with no other; got " + detail::quoted_text(columns[0]),
                columns[0]);
    }
    sentence_.multiwords.push_back({range.first, range.second, parse(line, columns, false)});
    multiword_line_ = line.number;
  }

  void add_empty_node(const TextLine& line, std::pair<std::uint32_t, std::uint32_t> place,
                      const std::vector<std::string_view>& columns) {
    const std::uint32_t after = next() - 1;
    const bool again =
        !sentence_.empty_nodes.empty() && sentence_.empty_nodes.back().after == after;
    empty_count_ = again ? empty_count_ + 1 : 1;
    const bool behind_range =
        !sentence_.multiwords.empty() && sentence_.multiwords.back().first == next();
    if (place != std::pair(after, empty_count_) || behind_range) {
      line.fail("need the number " + std::to_string(after) + "." + std::to_string(empty_count_) +
                    ", behind its word, of a word that is not in the text; got " +
                    detail::quoted_text(columns[0]),
                columns[0]);
    }
    sentence_.empty_nodes.push_back({after, parse(line, columns, false)});
  }

  static ConlluColumns parse(const TextLine& line, const std::vector<std::string_view>& columns,
                             bool is_word) {
    ConlluColumns result;
    for (const auto& [i, text] : kTexts) result.*text = columns[i];
    const std::string_view head = columns[kHead];
    if (head == "_") return result;
    const std::optional<std::uint32_t> number = parse_number(head);
    if (!is_word || !number) {
      line.fail(std::string("need ") + (is_word ? "a number or " : "") + "\"_\" as HEAD; got " +
                    detail::quoted_text(head),
                head);
    }
    result.head = static_cast<std::int32_t>(*number);
    return result;
  }

  ConlluSentence sentence_;
  std::vector<std::size_t> lines_;  // of words
  std::size_t multiword_line_ = 0, last_line_ = 0;
  std::uint32_t empty_count_ = 0;  // after the last word
};

[[noreturn]] void fail_to_write(const std::string& need, const std::string& got) {
  throw UsageError("[to_conllu] need " + need + "; got " + got);
}

/// `max_head` is the number of the last word, or kNoHead for lines without a head.
void append_line(const std::string& id, const ConlluColumns& columns, std::int64_t max_head,
                 std::string& text) {
  if (columns.head < columns.kNoHead || columns.head > max_head) {
    fail_to_write("a word, 0 or none as HEAD of " + id, std::to_string(columns.head));
  }
  text += id;
  std::size_t next = 1;
  const auto append = [&](std::string_view column) {
    if (column.empty() || column.find_first_of("\t\n\r") != column.npos) {
      fail_to_write(std::string("\"_\" or text without tabs and line ends as ") + kNames[next],
                    detail::quoted_text(column));
    }
    text += '\t';
    text += column;
    ++next;
  };
  for (const auto& [i, column] : kTexts) {
    if (next == kHead) append(columns.head == columns.kNoHead ? "_" : std::to_string(columns.head));
    append(columns.*column);
  }
  text += '\n';
}

void append_sentence(const ConlluSentence& sentence, std::string& text) {
  for (const std::string& comment : sentence.comments) {
    if (!comment.starts_with('#') || comment.find_first_of("\n\r") != comment.npos) {
      fail_to_write("comments of one line that begin with \"#\"", detail::quoted_text(comment));
    }
    text += comment + '\n';
  }
  const auto count = static_cast<std::uint32_t>(sentence.words.size());
  if (count == 0) fail_to_write("a word in every sentence", "none");
  auto multiword = sentence.multiwords.begin();
  auto empty_node = sentence.empty_nodes.begin();
  const auto append_empty_nodes = [&](std::uint32_t after) {
    for (unsigned i = 1; empty_node != sentence.empty_nodes.end() && empty_node->after == after;
         ++i, ++empty_node) {
      append_line(std::to_string(after) + '.' + std::to_string(i), empty_node->columns,
                  ConlluColumns::kNoHead, text);
    }
  };
  append_empty_nodes(0);
  std::uint32_t covered = 0;  // ranges cover words up to this one
  for (std::uint32_t i = 1; i <= count; ++i) {
    if (multiword != sentence.multiwords.end() && multiword->first == i) {
      if (i <= covered || multiword->last < i || multiword->last > count) break;
      covered = multiword->last;
      append_line(std::to_string(i) + '-' + std::to_string(covered), multiword->columns,
                  ConlluColumns::kNoHead, text);
      ++multiword;
    }
    append_line(std::to_string(i), sentence.words[i - 1], count, text);
    append_empty_nodes(i);
  }
  if (multiword != sentence.multiwords.end() || empty_node != sentence.empty_nodes.end()) {
    fail_to_write("ranges and empty nodes in the order of the words, ranges without overlaps",
                  "others");
  }
  text += '\n';
}

void check_one_per_word(const char* user, std::size_t count, std::size_t words) {
  if (count == words) return;
  throw UsageError(std::string("[") + user + "] need one for each of " +
                   detail::counted(words, "word") + "; got " + std::to_string(count));
}

}  // namespace

std::vector<std::uint32_t> ConlluSentence::heads() const {
  std::vector<std::uint32_t> result;
  for (const ConlluColumns& word : words) {
    if (word.head < 0) {
      throw UsageError("[heads] need a head of every word; got none of word " +
                       std::to_string(result.size() + 1) + ", " + detail::quoted_text(word.form));
    }
    result.push_back(static_cast<std::uint32_t>(word.head));
  }
  return result;
}

std::optional<std::string_view> ConlluSentence::comment(std::string_view key) const {
  const auto skip_spaces = [](std::string_view text) {
    return text.substr(std::min(text.find_first_not_of(' '), text.size()));
  };
  for (const std::string_view comment : comments) {
    std::string_view rest = skip_spaces(comment.substr(std::min<std::size_t>(comment.size(), 1)));
    if (!rest.starts_with(key)) continue;
    rest = skip_spaces(rest.substr(key.size()));
    if (!rest.starts_with('=')) continue;
    rest.remove_prefix(1);
    return rest.substr(rest.starts_with(' ') ? 1 : 0);
  }
  return {};
}

std::vector<std::string> ConlluSentence::column(Column column) const {
  std::vector<std::string> texts;
  texts.reserve(words.size());
  for (const ConlluColumns& word : words) texts.push_back(word.*column);
  return texts;
}

void ConlluSentence::set_heads(std::span<const std::uint32_t> heads) {
  check_one_per_word("set_heads", heads.size(), words.size());
  for (const std::uint32_t head : heads) {
    if (head <= words.size()) continue;
    throw UsageError("[set_heads] need heads from 0 to " + std::to_string(words.size()) + "; got " +
                     std::to_string(head));
  }
  for (std::size_t i = 0; i < heads.size(); ++i) {
    words[i].head = static_cast<std::int32_t>(heads[i]);
  }
}

void ConlluSentence::set_column(Column column, std::span<const std::string> texts) {
  check_one_per_word("set_column", texts.size(), words.size());
  for (std::size_t i = 0; i < texts.size(); ++i) words[i].*column = texts[i];
}

std::vector<std::uint32_t> sizes_of(std::span<const ConlluSentence> sentences) {
  std::vector<std::uint32_t> sizes;
  sizes.reserve(sentences.size());
  for (const ConlluSentence& sentence : sentences) {
    sizes.push_back(static_cast<std::uint32_t>(sentence.words.size()));
  }
  return sizes;
}

std::optional<std::string_view> conllu_value(std::string_view column, std::string_view key) {
  while (!column.empty()) {
    const std::string_view item = column.substr(0, column.find('|'));
    const std::size_t sign = item.find('=');
    if (sign != item.npos && item.substr(0, sign) == key) return item.substr(sign + 1);
    column.remove_prefix(std::min(item.size() + 1, column.size()));
  }
  return {};
}

std::vector<ConlluSentence> read_conllu(TextSource source, const TextLimits& limits) {
  LineReader lines(std::move(source), limits);
  std::vector<ConlluSentence> sentences;
  SentenceParser parser;
  while (const auto line = lines.next()) {
    if (line->text.find_first_not_of(" \t") == line->text.npos) {
      parser.finish(lines.name(), sentences);
    } else {
      parser.add(*line);
    }
  }
  parser.finish(lines.name(), sentences);
  if (sentences.empty()) throw FileError(lines.name(), "need at least one sentence; got none");
  return sentences;
}

std::string to_conllu(std::span<const ConlluSentence> sentences) {
  std::string text;
  for (const ConlluSentence& sentence : sentences) append_sentence(sentence, text);
  return text;
}

void write_conllu(const std::string& path, std::span<const ConlluSentence> sentences) {
  detail::write_atomically(path, to_conllu(sentences));
}

}  // namespace dynet_like::nn
