// Word vectors as text of word2vec, GloVe and fastText, read and written, and as arrays of numpy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/io/atomic_file.h"
#include "dynet_like/io/npz.h"
#include "dynet_like/params/parameter.h"
#include "nn/data/text_lines.h"
#include "nn/data/vocabulary.h"

namespace dynet_like::nn {

/// Enough for all known word vectors: 16 GiB.
inline constexpr TextLimits kWordVectorLimits = {.max_line_bytes = std::size_t{1} << 20,
                                                 .max_file_bytes = std::size_t{1} << 34};

/// How much of a file is read, and which errors are skipped.
struct WordVectorOptions {
  /// Reads at most so many words. Files have frequent words first.
  std::uint64_t most_words = std::numeric_limits<std::uint64_t>::max();
  /// If set, malformed lines are skipped, and their number is added here; it must outlive the
  /// reader. The number of words may then differ from that in the first line. If not set, such
  /// files are refused.
  std::uint64_t* skipped_lines = nullptr;
  TextLimits limits = kWordVectorLimits;
};

/// Reads text line by line, or an .npz file. A line is a word and some finite numbers, the same
/// number in every line, separated by spaces or tabs. The first line may be two whole numbers, the
/// number of words and the size of a vector, as word2vec and fastText write; these are checked. The
/// numbers are the last ones of a line, so that a word may contain spaces and numbers, such as "May
/// 5", or be a single space. But without a line of sizes the first word may not contain spaces; and
/// with one, the next line may not have one number too many, which would mean that the sizes are
/// wrong. A repeated word is returned again.
///
/// An .npz file has the words as an array of texts "keys", and an array "vectors" [n, size] of F32
/// or F16. If it has an array "rows" of I32 or I64, many words may share a vector: that of word i
/// is vectors[rows[i]], otherwise vectors[i]. The whole file is read at once.
class WordVectorReader {
 public:
  /// Throws FileError, as next() does, if the file is missing, malformed or over a limit.
  explicit WordVectorReader(const TextSource& source, const WordVectorOptions& options = {});
  /// The same for arrays in memory.
  explicit WordVectorReader(const NumpyFile& arrays, const WordVectorOptions& options = {});
  WordVectorReader(const WordVectorReader&) = delete;  // members refer to each other
  WordVectorReader& operator=(const WordVectorReader&) = delete;

  /// Goes to the next word. Returns false after the last word. Throws FileError with the line.
  bool next();
  /// Word and vector of the current line, valid until the next call.
  std::string_view word() const { return word_; }
  std::span<const float> vector() const { return vector_; }
  /// The size of all vectors; 0 until it is known from the first line, if there are lines.
  std::size_t size() const { return size_; }
  /// The line of the current word, from 1; 0 in an .npz file.
  std::size_t line() const { return lines_.number(); }

 private:
  /// The arrays of an .npz file.
  struct Arrays {
    std::vector<std::string> keys;
    std::vector<std::size_t> rows;  ///< of each word
    std::vector<float> vectors;     ///< one after the other
  };

  [[noreturn]] void fail(const std::string& what) const;
  void take(const NumpyFile& file);
  bool next_key();
  bool end() const;
  bool parse_header(std::string_view line);
  bool parse(std::string_view line);
  void check_size(std::string_view word) const;
  bool refuse(std::string_view got) const;

  WordVectorOptions options_;
  LineReader lines_;
  std::optional<std::uint64_t> expected_;  // number of words, if the first line has it
  bool has_sizes_ = false;                 // whether the first line is a line of sizes
  std::uint64_t count_ = 0;
  std::size_t size_ = 0;
  std::optional<Arrays> arrays_;  // instead of lines
  std::string_view word_;
  std::vector<float> vector_;
};

/// Writes such a file, without the line of sizes. It appears whole at commit(), or not at all.
/// Numbers read back as the same floats.
class WordVectorWriter {
 public:
  /// Throws FileError.
  explicit WordVectorWriter(const std::string& path) : file_(path) {}
  /// Throws UsageError for an empty word or one with spaces or line ends, for a vector that is
  /// empty or has another size than the first one, and for a number that is not finite.
  void write(std::string_view word, std::span<const float> vector);
  void commit();

 private:
  void flush();

  detail::AtomicFile file_;
  std::size_t size_ = 0;
  std::string text_;
};

/// Fills the rows of a table whose words are in the file (row = id), and returns their number.
/// Other words of the file are skipped, other rows unchanged. Words of the file are normalised like
/// the vocabulary's. If several have the same form, such as "The" and "the", the one that has this
/// form already counts, otherwise the first. Throws UsageError if the table has fewer rows than the
/// vocabulary has words, and FileError for a malformed file or one with vectors of another size,
/// before anything is changed.
std::uint32_t read_word_vectors(const std::string& path, const Vocabulary& words,
                                const LookupParameter& table,
                                const WordVectorOptions& options = {});

/// Adds the words of the file that the vocabulary lacks, each with count 1, at most `most` of them;
/// the rest of the file is not read (files have frequent words first). Returns how many it added.
/// Throws UsageError for a frozen vocabulary, FileError.
std::uint32_t add_words_with_vectors(const std::string& path, Vocabulary& words, std::uint32_t most,
                                     const WordVectorOptions& options = {});

/// Writes the rows of all words in the order of their ids. Throws UsageError if the table has fewer
/// rows than the vocabulary has words, or a word or number cannot be written; FileError.
void write_word_vectors(const std::string& path, const Vocabulary& words,
                        const LookupParameter& table);

}  // namespace dynet_like::nn
