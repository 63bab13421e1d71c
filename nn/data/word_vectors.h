// Word vectors in the text format of word2vec, GloVe and fastText, read and written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/io/atomic_file.h"
#include "dynet_like/params/parameter.h"
#include "nn/data/text_lines.h"
#include "nn/data/vocabulary.h"

namespace dynet_like::nn {

/// Enough for all vectors that are in use: 16 GiB.
inline constexpr TextLimits kWordVectorLimits = {.max_line_bytes = std::size_t{1} << 20,
                                                 .max_file_bytes = std::size_t{1} << 34};

/// How much of a file is read, and what of it may be malformed.
struct WordVectorOptions {
  /// What follows so many words is not read: files have frequent words first.
  std::uint64_t most_words = std::numeric_limits<std::uint64_t>::max();
  /// If set, lines that are not a word and its numbers are skipped, and their number is added here;
  /// it must outlive the reader. The file may then have another number of words than its first line
  /// says. Otherwise such lines and files are refused.
  std::uint64_t* skipped_lines = nullptr;
  TextLimits limits = kWordVectorLimits;
};

/// Reads a file line by line: a word, then equally many finite numbers on every line, parted by
/// spaces or tabs. A first line of two whole numbers is how many words and numbers follow, as
/// word2vec and fastText write it; it is checked. Otherwise the first line's word has no blanks.
/// The numbers are the last ones of a line, so that words may have blanks and numbers in them, such
/// as "May 5", or be one space; but a number too many behind the line of sizes means that these are
/// wrong, which is refused. A word that comes again is given again.
class WordVectorReader {
 public:
  /// Throws FileError, as next() does, where the file is missing, malformed or over a limit.
  explicit WordVectorReader(const std::string& path, const WordVectorOptions& options = {});
  /// The same for a stream, which must outlive the reader; `file` is its name in messages.
  WordVectorReader(std::istream& stream, const std::string& file,
                   const WordVectorOptions& options = {});
  WordVectorReader(const WordVectorReader&) = delete;  // it refers to what it has
  WordVectorReader& operator=(const WordVectorReader&) = delete;

  /// Goes to the next word; false after the last one that is wanted. Throws FileError with the
  /// line.
  bool next();
  /// Of the present word; both hold until the next call.
  std::string_view word() const { return word_; }
  std::span<const float> vector() const { return vector_; }
  /// The size of all vectors, known from the first line on; until then 0.
  std::size_t size() const { return size_; }
  /// The line of the present word, from 1.
  std::size_t line() const { return lines_.number(); }

 private:
  WordVectorReader(std::unique_ptr<std::istream> stream, const std::string& file,
                   const WordVectorOptions& options);
  [[noreturn]] void fail(const std::string& what) const;
  bool end() const;
  bool parse_header(std::string_view line);
  bool parse(std::string_view line);
  void check_size(std::string_view word) const;
  bool refuse(std::string_view got) const;

  std::unique_ptr<std::istream> own_stream_;
  std::string file_;
  WordVectorOptions options_;
  LineReader lines_;
  std::optional<std::uint64_t> expected_;  // the number of words, if the first line says it
  bool has_sizes_ = false;                 // whether the first line is one of sizes
  std::uint64_t count_ = 0;
  std::size_t size_ = 0;
  std::string_view word_;
  std::vector<float> vector_;
};

/// Writes such a file, without the line of sizes; it appears whole at commit() or not at all.
/// Numbers read back as the same floats.
class WordVectorWriter {
 public:
  /// Throws FileError.
  explicit WordVectorWriter(const std::string& path) : file_(path) {}
  /// Throws UsageError for an empty word or one with blanks or line ends, for a vector that is
  /// empty, has another size than the first one, or a number that is not finite.
  void write(std::string_view word, std::span<const float> vector);
  void commit();

 private:
  void flush();

  detail::AtomicFile file_;
  std::size_t size_ = 0;
  std::string text_;
};

/// Fills the rows of a table whose words are in the file (row = id) and returns how many those
/// are; other words of the file are passed over, other rows stay. Words of the file are normalised
/// as the vocabulary says; of several that become one, such as "The" and "the", the one that is in
/// this form already counts, or else the first. Throws UsageError where the table has fewer rows
/// than the vocabulary words, FileError for a bad file or one with vectors of another size, before
/// anything is changed.
std::uint32_t read_word_vectors(const std::string& path, const Vocabulary& words,
                                const LookupParameter& table,
                                const WordVectorOptions& options = {});

/// Adds the words of the file that the vocabulary lacks, each with count 1, but no more than
/// `most`; what is behind those is not read: files have frequent words first. Returns how many it
/// added. Throws UsageError for a frozen vocabulary, FileError.
std::uint32_t add_words_with_vectors(const std::string& path, Vocabulary& words, std::uint32_t most,
                                     const WordVectorOptions& options = {});

/// Writes the rows of all words in the order of their ids. Throws UsageError where the table has
/// fewer rows than the vocabulary words or something cannot be written, FileError.
void write_word_vectors(const std::string& path, const Vocabulary& words,
                        const LookupParameter& table);

}  // namespace dynet_like::nn
