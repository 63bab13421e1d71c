// Vocabularies: look-up, trimming, and the text file with its escapes.
#include "nn/data/vocabulary.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

#include "dynet_like/core/errors.h"
#include "nn/data/text_lines.h"

namespace dynet_like::nn {

namespace {

constexpr TextLimits kLimits = {.max_line_bytes = 1 << 16, .max_file_bytes = 1 << 30};
constexpr std::string_view kUnknownMark = "unknown";
// What follows a backslash in the file, and what it stands for.
constexpr std::string_view kEscapeLetters = "\\tnr";
constexpr std::string_view kEscaped = "\\\t\n\r";

std::string escape(std::string_view word) {
  std::string text;
  for (const char c : word) {
    if (const std::size_t which = kEscaped.find(c); which != kEscaped.npos) {
      text += {'\\', kEscapeLetters[which]};
    } else {
      text += c;
    }
  }
  return text;
}

/// One line of a vocabulary file.
struct Entry {
  std::string word;
  std::uint64_t count = 0;
  bool unknown = false;
};

class EntryParser {
 public:
  EntryParser(std::string_view line, const std::string& file, std::size_t line_number)
      : line_(line), file_(file), line_number_(line_number) {}

  Entry parse() {
    Entry entry;
    unescape(field(), entry.word);
    if (entry.word.empty()) fail("need a word; got an empty one");
    if (more_) entry.count = read_count(field());
    if (more_) {
      if (const std::string_view mark = field(); mark != kUnknownMark) {
        fail("need \"unknown\" or nothing after the count; got " + quoted_text(mark));
      }
      entry.unknown = true;
    }
    if (more_) fail("need at most 3 fields; got more");
    return entry;
  }

 private:
  [[noreturn]] void fail(const std::string& what, std::size_t offset = 0) const {
    throw FileError(file_, what, line_number_, start_ + offset + 1);
  }

  /// The text up to the next tab or the end of the line.
  std::string_view field() {
    start_ = next_;
    const std::size_t tab = line_.find('\t', start_);
    more_ = tab != line_.npos;
    next_ = more_ ? tab + 1 : line_.size();
    return line_.substr(start_, more_ ? tab - start_ : line_.npos);
  }

  void unescape(std::string_view text, std::string& word) const {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\') {
        word += text[i];
        continue;
      }
      const std::size_t which =
          i + 1 < text.size() ? kEscapeLetters.find(text[i + 1]) : kEscapeLetters.npos;
      if (which == kEscapeLetters.npos) fail("need \\\\, \\t, \\n or \\r after a backslash", i);
      word += kEscaped[which];
      ++i;
    }
  }

  std::uint64_t read_count(std::string_view text) const {
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc{} || end != text.data() + text.size()) {
      fail("need a count below 2^64; got " + quoted_text(text));
    }
    return count;
  }

  std::string_view line_;
  const std::string& file_;
  std::size_t line_number_;
  std::size_t start_ = 0, next_ = 0;
  bool more_ = true;
};

}  // namespace

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
  const auto found = ids_.find(word);
  if (found == ids_.end()) return append(word, 1);
  ++counts_[found->second];
  return found->second;
}

std::uint32_t Vocabulary::id(std::string_view word) const {
  if (const auto found = ids_.find(word); found != ids_.end()) return found->second;
  if (unknown_) return *unknown_;
  throw UsageError("the vocabulary needs the word or an unknown word; got " + quoted_text(word));
}

std::uint32_t Vocabulary::set_unknown(std::string_view word) {
  const auto found = ids_.find(word);
  if (found == ids_.end() && frozen_) {
    throw UsageError("a frozen vocabulary needs an unknown word that it contains; got " +
                     quoted_text(word));
  }
  unknown_ = found == ids_.end() ? append(word, 0) : found->second;
  return *unknown_;
}

void Vocabulary::check_id(std::uint32_t id) const {
  if (id >= size()) {
    throw UsageError("the vocabulary needs an id below " + std::to_string(size()) + "; got " +
                     std::to_string(id));
  }
}

const std::string& Vocabulary::word(std::uint32_t id) const {
  check_id(id);
  return words_[id];
}

std::uint64_t Vocabulary::count(std::uint32_t id) const {
  check_id(id);
  return counts_[id];
}

Vocabulary Vocabulary::trimmed(std::uint64_t min_count) const {
  Vocabulary result;
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

void Vocabulary::save(const std::string& path) const {
  if (size() == 0) throw UsageError("a vocabulary needs words to be saved; got none");
  const std::string temporary = path + ".partial";
  std::ofstream stream(temporary, std::ios::binary);
  if (!stream) throw FileError(temporary, "the file cannot be created");
  for (std::uint32_t id = 0; id < size(); ++id) {
    stream << escape(words_[id]) << '\t' << counts_[id];
    if (unknown_ == id) stream << '\t' << kUnknownMark;
    stream << '\n';
  }
  stream.close();
  std::error_code error;
  if (stream) std::filesystem::rename(temporary, path, error);
  if (!stream || error) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw FileError(path, "the file cannot be written");
  }
}

Vocabulary Vocabulary::load(const std::string& path) {
  std::ifstream stream = open_text(path, kLimits);
  LineReader lines(stream, path, kLimits);
  Vocabulary result;
  std::string_view line;
  while (lines.next(line)) {
    const Entry entry = EntryParser(line, path, lines.number()).parse();
    if (result.contains(entry.word)) {
      throw FileError(path, "need each word once; got again " + quoted_text(entry.word),
                      lines.number());
    }
    const std::uint32_t id = result.append(entry.word, entry.count);
    if (entry.unknown && result.unknown_) {
      throw FileError(path, "need at most one unknown word; got another", lines.number());
    }
    if (entry.unknown) result.unknown_ = id;
  }
  if (result.size() == 0) throw FileError(path, "need at least one word; got an empty file");
  result.freeze();
  return result;
}

}  // namespace dynet_like::nn
