// Word vectors: lines are parsed from the end, where the numbers are; arrays are checked at once.
#include "nn/data/word_vectors.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/io/tensor_file.h"

namespace dynet_like::nn {

namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::size_t kFlushBytes = 1 << 16;
constexpr std::size_t kNumberBytes = 32;

void strip_end(std::string_view& text) {
  text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

// Cuts off the last word and the spaces before it; empty if there is none.
std::string_view take_last(std::string_view& text) {
  const std::string_view last = text.substr(text.find_last_of(kBlanks) + 1);
  text.remove_suffix(last.size());
  strip_end(text);
  return last;
}

std::size_t count_words(std::string_view text) {
  std::size_t count = 0;
  while (!take_last(text).empty()) ++count;
  return count;
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

// "F32 [2, 3]", for messages.
std::string shown(const TensorEntry* entry) {
  if (entry == nullptr) return "none";
  return fmt::format("{} [{}]", entry->dtype, fmt::join(entry->shape, ", "));
}

// The whole numbers of an array of I32 or I64; empty for other types. Negative ones become large.
std::vector<std::size_t> whole_numbers(const TensorEntry& entry) {
  const bool is_long = entry.dtype == "I64";
  if (!is_long && entry.dtype != "I32") return {};
  const std::size_t bytes = is_long ? sizeof(std::int64_t) : sizeof(std::int32_t);
  std::vector<std::size_t> numbers(entry.bytes.size() / bytes);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::memcpy(&numbers[i], entry.bytes.data() + i * bytes, bytes);
  }
  return numbers;
}

void check_rows(const Vocabulary& words, const LookupParameter& table) {
  if (table.rows() < words.size()) {
    throw UsageError("word vectors need a table with a row for each of " +
                     detail::counted(words.size(), "word") + "; got " +
                     std::to_string(table.rows()));
  }
}

}  // namespace

WordVectorReader::WordVectorReader(const TextSource& source, const WordVectorOptions& options)
    : options_(options), lines_(source, options.limits) {
  if (source.is_file() && source.name().ends_with(".npz")) take(NumpyFile::read(source.name()));
}

WordVectorReader::WordVectorReader(const NumpyFile& arrays, const WordVectorOptions& options)
    : options_(options), lines_(TextSource::of("", arrays.name()), options.limits) {
  take(arrays);
}

void WordVectorReader::fail(const std::string& what) const {
  throw FileError(lines_.name(), what, lines_.number());
}

// Checks the arrays of a file before it copies them.
void WordVectorReader::take(const NumpyFile& file) {
  const TensorEntry *const vectors = file.find("vectors"), *const rows = file.find("rows");
  const TensorEntry* const keys = file.find("keys");
  const bool is_table = vectors != nullptr && vectors->shape.size() == 2 && vectors->shape[1] > 0;
  arrays_.emplace();
  if (is_table) arrays_->vectors = detail::tensor_file::floats_of(*vectors);
  if (!is_table || arrays_->vectors.empty()) {
    fail("need an array \"vectors\" [n, size] of F32 or F16; got " + shown(vectors));
  }
  const auto finite = [](float number) { return std::isfinite(number); };
  if (!std::all_of(arrays_->vectors.begin(), arrays_->vectors.end(), finite)) {
    fail("need finite numbers in \"vectors\"; got others");
  }
  if (rows != nullptr) arrays_->rows = whole_numbers(*rows);
  if (rows != nullptr && (rows->shape.size() != 1 || arrays_->rows.empty())) {
    fail("need an array \"rows\" [words] of I32 or I64; got " + shown(rows));
  }
  const std::uint64_t count = (rows == nullptr ? vectors : rows)->shape[0];
  if (keys != nullptr && (keys->shape.size() != 1 || keys->shape[0] != count)) {
    fail(fmt::format("need \"keys\" [{}], one per {}; got {}", count,
                     rows == nullptr ? "vector" : "row", shown(keys)));
  }
  for (const std::size_t row : arrays_->rows) {
    if (row < vectors->shape[0]) continue;
    fail(fmt::format("need rows below {}, the number of vectors; got {} in \"rows\"",
                     vectors->shape[0], static_cast<std::int64_t>(row)));
  }
  arrays_->keys = file.texts("keys");
  size_ = vectors->shape[1];
}

bool WordVectorReader::next_key() {
  if (count_ == arrays_->keys.size()) return false;
  word_ = arrays_->keys[count_];
  if (word_.empty()) fail(fmt::format("need words in \"keys\"; got an empty one at {}", count_));
  const std::size_t row = arrays_->rows.empty() ? count_ : arrays_->rows[count_];
  const auto first = arrays_->vectors.begin() + static_cast<std::ptrdiff_t>(row * size_);
  vector_.assign(first, first + static_cast<std::ptrdiff_t>(size_));
  ++count_;
  return true;
}

bool WordVectorReader::next() {
  if (count_ == options_.most_words) return false;
  if (arrays_) return next_key();
  while (true) {
    const auto line = lines_.next();
    if (!line) return end();
    if (line->number == 1 && parse_header(line->text)) continue;
    if (parse(line->text)) break;
  }
  ++count_;
  if (expected_ && count_ > *expected_) {
    fail("need " + detail::counted(*expected_, "word") + ", as the first line says; got more");
  }
  return true;
}

// Checks the number of words, after the last line.
bool WordVectorReader::end() const {
  if (lines_.number() == 0) fail("need at least one word; got an empty file");
  if (expected_ && count_ < *expected_) {
    fail("need " + detail::counted(*expected_, "word") + ", as the first line says; got " +
         std::to_string(count_));
  }
  return false;
}

// Finds the size of the vectors from the first line. Returns whether it is a line of sizes.
bool WordVectorReader::parse_header(std::string_view line) {
  strip_end(line);
  size_ = std::max<std::size_t>(count_words(line), 1) - 1;
  std::string_view rest = line;
  const std::optional<std::uint64_t> size = whole_number(take_last(rest));
  const std::optional<std::uint64_t> count = whole_number(rest);
  if (!size || !count) return false;
  const std::size_t most = options_.limits.max_line_bytes / 2;
  if (*size == 0 || *size > most) {
    fail("need 1 to " + detail::counted(most, "number") + " in a vector; got " +
         std::to_string(*size));
  }
  size_ = *size;
  has_sizes_ = true;
  if (options_.skipped_lines == nullptr) expected_ = count;
  return true;
}

// Returns false if the line is skipped.
bool WordVectorReader::parse(std::string_view line) {
  const std::string_view whole = line;
  strip_end(line);
  vector_.resize(size_);
  for (std::size_t i = size_; i-- > 0;) {
    const std::string_view text = take_last(line);
    const std::optional<float> number = detail::parse_float(text);
    if (!number || !std::isfinite(*number)) return refuse(detail::quoted_text(text));
    vector_[i] = *number;
  }
  if (has_sizes_ && lines_.number() == 2) check_size(line);
  // Two spaces at the beginning: the word is a space, and another one follows it.
  const std::size_t blanks = std::min(whole.find_first_not_of(kBlanks), whole.size());
  if (line.empty() && blanks == 2) line = whole.substr(0, 1);
  if (size_ == 0) return refuse(detail::quoted_text(line));
  if (line.empty() || (blanks > 0 && line.size() > 1)) return refuse("no word in front");
  word_ = line;
  return true;
}

// Checks the line after the line of sizes. If the text before its numbers has another number at its
// end, the sizes must be wrong; otherwise nobody would notice, since words may contain numbers.
void WordVectorReader::check_size(std::string_view word) const {
  const std::optional<float> number = detail::parse_float(take_last(word));
  if (word.empty() || !number || !std::isfinite(*number)) return;
  fail("need a word and " + detail::counted(size_, "number") +
       ", as the first line says; got more");
}

// Throws unless such lines are skipped. Returns false.
bool WordVectorReader::refuse(std::string_view got) const {
  if (options_.skipped_lines == nullptr || size_ == 0) {
    fail("need a word and " + std::to_string(std::max<std::size_t>(size_, 1)) +
         " finite numbers; got " + std::string(got));
  }
  ++*options_.skipped_lines;
  return false;
}

void WordVectorWriter::write(std::string_view word, std::span<const float> vector) {
  if (word.empty() || word.find_first_of(" \t\r\n") != word.npos) {
    throw UsageError("word vectors need words without blanks and line ends; got " +
                     detail::quoted_text(word));
  }
  if (vector.empty() || (size_ != 0 && vector.size() != size_)) {
    throw UsageError("word vectors need one size, from 1, for all; got " +
                     std::to_string(vector.size()) + " after " + std::to_string(size_));
  }
  const auto finite = [](float number) { return std::isfinite(number); };
  if (!std::all_of(vector.begin(), vector.end(), finite)) {
    throw UsageError("word vectors need finite numbers; got others for " +
                     detail::quoted_text(word));
  }
  // If the first word looks like a byte order mark, writes a mark before it, so that it stays a
  // word.
  const bool looks_like_mark = word.starts_with(detail::kByteOrderMark) || !detail::is_utf8(word);
  if (size_ == 0 && looks_like_mark) text_ += detail::kByteOrderMark;
  size_ = vector.size();
  text_ += word;
  for (const float number : vector) {
    // With an exponent: the first line must not look like a line of sizes.
    char digits[kNumberBytes];
    const char* end =
        std::to_chars(digits, digits + kNumberBytes, number, std::chars_format::scientific).ptr;
    text_ += ' ';
    text_.append(digits, static_cast<std::size_t>(end - digits));
  }
  text_ += '\n';
  if (text_.size() >= kFlushBytes) flush();
}

void WordVectorWriter::flush() {
  file_.write(std::as_bytes(std::span(text_)));
  text_.clear();
}

void WordVectorWriter::commit() {
  flush();
  file_.commit();
}

std::uint32_t read_word_vectors(const std::string& path, const Vocabulary& words,
                                const LookupParameter& table, const WordVectorOptions& options) {
  check_rows(words, table);
  const std::size_t size = table.get_storage().entry_size();
  std::vector<std::vector<float>> vectors(words.size());  // by id; empty if the file lacks the word
  std::vector<bool> is_same(words.size());                // as in the file, without normalising
  for (WordVectorReader reader(path, options); reader.next();) {
    if (reader.size() != size) {
      throw FileError(path,
                      "need vectors of " + detail::counted(size, "number") + " for " +
                          table.get_fullname() + "; got " + std::to_string(reader.size()),
                      reader.line());
    }
    const std::optional<std::uint32_t> id = words.find(reader.word());
    if (!id) continue;
    const bool same = words.word(*id) == reader.word();
    if (!vectors[*id].empty() && (is_same[*id] || !same)) continue;
    vectors[*id].assign(reader.vector().begin(), reader.vector().end());
    is_same[*id] = same;
  }
  std::uint32_t found = 0;
  for (std::uint32_t id = 0; id < words.size(); ++id) {
    if (vectors[id].empty()) continue;
    table.initialize(id, vectors[id]);
    ++found;
  }
  return found;
}

std::uint32_t add_words_with_vectors(const std::string& path, Vocabulary& words, std::uint32_t most,
                                     const WordVectorOptions& options) {
  if (words.frozen()) throw UsageError("words with vectors need a vocabulary that is not frozen");
  std::uint32_t added = 0;
  for (WordVectorReader reader(path, options); added < most && reader.next();) {
    if (words.contains(reader.word())) continue;
    words.add(reader.word());
    ++added;
  }
  return added;
}

void write_word_vectors(const std::string& path, const Vocabulary& words,
                        const LookupParameter& table) {
  check_rows(words, table);
  WordVectorWriter writer(path);
  for (std::uint32_t id = 0; id < words.size(); ++id) {
    writer.write(words.word(id), as_vector(table.values(id)));
  }
  writer.commit();
}

}  // namespace dynet_like::nn
