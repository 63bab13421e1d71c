// Vocabularies: look-up, trimming, and the text file with its escapes.
#include "nn/data/vocabulary.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

#include "dynet_like/io/atomic_file.h"
#include "dynet_like/io/checksum.h"
#include "nn/data/text_lines.h"

namespace dynet_like::nn {

namespace {

// Any word of a text that was read with the default limits fits into a line, even escaped.
constexpr TextLimits kLimits = {.max_line_bytes = 1 << 23, .max_file_bytes = 1 << 30};
constexpr const char* kEmpty = "need at least one word; got an empty file";
constexpr std::string_view kUnknownMark = "unknown";
// These lines are not words: in a word, another letter follows a backslash.
constexpr std::string_view kLowerCase = "\\lower-case", kDigits = "\\digits";
// The letters after a backslash in the file, and the characters that they stand for.
constexpr std::string_view kEscapeLetters = "\\tnr";
constexpr std::string_view kEscaped = "\\\t\n\r";

constexpr std::string_view kHexadecimal = "0123456789abcdef";

// The first line of a file. If one of its bits is damaged, the file is malformed: as the line of a
// word, it lacks a number as count.
constexpr std::string_view kChecksum = "\\checksum\tcrc32\t";

void append_escaped(std::string_view word, std::string& text) {
  // If the word is the first, the reader would skip its byte order mark.
  const bool escapes_bytes = !detail::is_utf8(word) || word.starts_with(detail::kByteOrderMark);
  for (const char c : word) {
    if (const std::size_t which = kEscaped.find(c); which != kEscaped.npos) {
      text += {'\\', kEscapeLetters[which]};
    } else if (const auto byte = static_cast<unsigned char>(c);
               byte == 0 || (escapes_bytes && byte >= 0x80)) {
      text += {'\\', 'x', kHexadecimal[byte >> 4], kHexadecimal[byte & 15]};
    } else {
      text += c;
    }
  }
}

/// One line of a vocabulary file.
struct Entry {
  std::string word;
  std::uint64_t count = 0;
  bool unknown = false;
};

char parse_byte(const TextLine& line, std::string_view digits, std::string_view at) {
  unsigned value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, 16);
  if (digits.size() != 2 || error != std::errc{} || stop != end) {
    line.fail("need two hexadecimal digits after \\x; got " + detail::quoted_text(digits), at);
  }
  return static_cast<char>(value);
}

std::string unescaped(const TextLine& line, std::string_view text) {
  std::string word;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      word += text[i];
    } else if (text.substr(i + 1, 1) == "x") {
      word += parse_byte(line, text.substr(i + 2, 2), text.substr(i));
      i += 3;
    } else {
      const std::size_t which = i + 1 < text.size() ? kEscapeLetters.find(text[i + 1]) : text.npos;
      if (which == text.npos) {
        line.fail("need \\\\, \\t, \\n, \\r or \\x after a backslash", text.substr(i));
      }
      word += kEscaped[which];
      ++i;
    }
  }
  return word;
}

Entry parse_entry(const TextLine& line) {
  // Zeros are a typical damage of disks, and may replace the line with the checksum. (Other damage
  // of that line is malformed, but zeros would be a word.) In other lines they may belong to a
  // word, as older versions wrote it.
  if (line.number == 1 && line.text.starts_with('\0')) {
    line.fail("need text; got a zero byte", line.text);
  }
  if (std::count(line.text.begin(), line.text.end(), '\t') > 2) {
    line.fail("need at most 3 fields; got more");
  }
  const std::vector<std::string_view> fields = line.columns();
  Entry entry = {.word = unescaped(line, fields[0])};
  if (entry.word.empty()) line.fail("need a word; got an empty one", fields[0]);
  if (fields.size() > 1) {
    const char* const end = fields[1].data() + fields[1].size();
    const auto [stop, error] = std::from_chars(fields[1].data(), end, entry.count);
    if (error != std::errc{} || stop != end) {
      line.fail("need a count below 2^64; got " + detail::quoted_text(fields[1]), fields[1]);
    }
  }
  entry.unknown = fields.size() > 2;
  if (entry.unknown && fields[2] != kUnknownMark) {
    line.fail("need \"unknown\" or nothing after the count; got " + detail::quoted_text(fields[2]),
              fields[2]);
  }
  return entry;
}

}  // namespace

/// Appends a word that is normalised already.
std::uint32_t Vocabulary::append(std::string_view word, std::uint64_t count) {
  if (word.empty()) throw UsageError("a vocabulary needs words that are not empty");
  if (words_.size() >= std::numeric_limits<std::uint32_t>::max()) {
    throw UsageError("a vocabulary needs fewer than 2^32 words");
  }
  const std::uint32_t id = size();
  ids_.emplace(word, id);
  words_.emplace_back(word);
  counts_.push_back(count);
  return id;
}

std::uint32_t Vocabulary::add(std::string_view word) {
  if (frozen_) return id(word);
  const std::optional<std::uint32_t> found = find(word);
  if (!found) return append(normalised(word, normalisation_), 1);
  ++counts_[*found];
  return *found;
}

std::optional<std::uint32_t> Vocabulary::find(std::string_view word) const {
  const auto found = normalisation_ ? ids_.find(normalised(word, normalisation_)) : ids_.find(word);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::uint32_t Vocabulary::id(std::string_view word) const {
  if (const std::optional<std::uint32_t> found = find(word)) return *found;
  if (unknown_) return *unknown_;
  throw UsageError("the vocabulary needs the word or an unknown word; got " +
                   detail::quoted_text(word));
}

std::uint32_t Vocabulary::set_unknown(std::string_view word) {
  const std::optional<std::uint32_t> found = find(word);
  if (!found && frozen_) {
    throw UsageError("a frozen vocabulary needs an unknown word that it contains; got " +
                     detail::quoted_text(word));
  }
  unknown_ = found ? *found : append(normalised(word, normalisation_), 0);
  return *unknown_;
}

void Vocabulary::check_id(std::uint32_t id) const {
  if (id >= size()) {
    throw UsageError("the vocabulary needs an id below " + std::to_string(size()) + "; got " +
                     detail::index_text(id));
  }
}

const std::string& Vocabulary::word(std::uint32_t id) const {
  check_id(id);
  return words_[id];
}

std::vector<std::string> Vocabulary::words(std::span<const std::uint32_t> ids) const {
  std::vector<std::string> words;
  words.reserve(ids.size());
  for (const std::uint32_t id : ids) words.push_back(word(id));
  return words;
}

std::uint64_t Vocabulary::count(std::uint32_t id) const {
  check_id(id);
  return counts_[id];
}

Vocabulary Vocabulary::trimmed(std::uint64_t min_count) const {
  Vocabulary result(normalisation_);
  std::uint64_t dropped = 0;
  for (std::uint32_t id = 0; id < size(); ++id) {
    if (unknown_ == id) {
      result.unknown_ = result.append(words_[id], counts_[id]);
    } else if (counts_[id] >= min_count) {
      result.append(words_[id], counts_[id]);
    } else {
      dropped += counts_[id];
    }
  }
  if (result.unknown_) result.counts_[*result.unknown_] += dropped;
  return result;
}

std::string Vocabulary::to_text() const {
  if (size() == 0) throw UsageError("a vocabulary needs words to be saved; got none");
  std::string text;
  if (normalisation_.lower_case) text.append(kLowerCase).append("\n");
  if (normalisation_.digits) text.append(kDigits).append("\n");
  for (std::uint32_t id = 0; id < size(); ++id) {
    append_escaped(words_[id], text);
    text += '\t' + std::to_string(counts_[id]);
    if (unknown_ == id) text.append("\t").append(kUnknownMark);
    text += '\n';
  }
  return text;
}

void Vocabulary::save(const std::string& path) const {
  const std::string text = to_text(), sum = detail::checksum_text(detail::checksum(text));
  detail::write_atomically(path, std::string(kChecksum) + sum + '\n' + text);
}

Vocabulary Vocabulary::load(const std::string& path) { return read(path); }

Vocabulary Vocabulary::from_text(std::string_view text, const std::string& file) {
  return read(TextSource::of(std::string(text), file));
}

Vocabulary Vocabulary::load_list(const std::string& path) { return read_list(path); }

Vocabulary Vocabulary::from_list(std::string_view text, const std::string& file) {
  return read_list(TextSource::of(std::string(text), file));
}

/// Appends a normalised word of a file.
void Vocabulary::append_new(std::string_view word, std::uint64_t count, const TextLine& line) {
  if (contains(word)) line.fail("need each word once; got again " + detail::quoted_text(word));
  append(word, count);
}

Vocabulary Vocabulary::read_list(TextSource source) {
  LineReader lines(std::move(source), kLimits);
  Vocabulary result;
  while (const auto line = lines.next()) {
    if (line->text.empty()) line->fail("need a word; got an empty line");
    result.append_new(line->text, 0, *line);
  }
  if (result.size() == 0) throw FileError(lines.name(), kEmpty);
  result.freeze();
  return result;
}

Vocabulary Vocabulary::read(TextSource source) {
  LineReader lines(std::move(source), kLimits);
  Vocabulary result;
  std::optional<std::string> said;  // the checksum of all other lines
  std::uint32_t sum = 0;
  while (const auto line = lines.next()) {
    const std::string_view text = line->text;
    if (line->number == 1 && text.starts_with(kChecksum)) {
      said = text.substr(kChecksum.size());
      continue;
    }
    if (said) sum = detail::checksum("\n", detail::checksum(text, sum));
    if (result.size() == 0 && (text == kLowerCase || text == kDigits)) {
      (text == kDigits ? result.normalisation_.digits : result.normalisation_.lower_case) = true;
      continue;
    }
    const Entry entry = parse_entry(*line);
    if (const std::string form = normalised(entry.word, result.normalisation_);
        form != entry.word) {
      line->fail("need words in the normal form that the first lines name, " +
                 detail::quoted_text(form) + "; got " + detail::quoted_text(entry.word));
    }
    result.append_new(entry.word, entry.count, *line);
    if (entry.unknown && result.unknown_) line->fail("need at most one unknown word; got another");
    if (entry.unknown) result.unknown_ = result.size() - 1;
  }
  if (said && detail::parse_checksum(*said) != sum) {
    throw FileError(lines.name(),
                    "need lines with the checksum " + detail::quoted_text(*said) + "; got " +
                        detail::checksum_text(sum) +
                        ": the file is damaged (without its first line it is read as it is)");
  }
  if (result.size() == 0) throw FileError(lines.name(), kEmpty);
  result.freeze();
  return result;
}

}  // namespace dynet_like::nn
