// Text models: reads headers strictly, and numbers block by block.
#include "dynet_like/io/text_model_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <istream>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet_like::detail {

namespace {

constexpr std::string_view kParameter = "#Parameter#", kTable = "#LookupParameter#";
constexpr std::string_view kZeroGradient = "ZERO_GRAD", kFullGradient = "FULL_GRAD";
constexpr std::size_t kBlockBytes = 1 << 16;
constexpr std::size_t kHeaderBytes = 4096;  // the longest header line
constexpr std::size_t kNumberBytes = 64;    // the longest number, with a space
constexpr int kDigits = 8;                  // after the decimal point
// "+1.23456789e-01 ", and "+nan " or "-inf ".
constexpr std::size_t kFiniteBytes = 16, kOtherBytes = 5;

std::unique_ptr<std::istream> open(const std::filesystem::path& path) {
  std::error_code error;
  // Opening a pipe would wait for its writer.
  if (!std::filesystem::is_regular_file(path, error)) {
    throw FileError(path.string(), "[text model] need a regular file to read; got " +
                                       (error ? error.message() : "another kind of file"));
  }
  auto stream = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*stream) throw FileError(path.string(), "[text model] need a file that can be read");
  return stream;
}

// The fields of a header line, separated by single spaces.
std::vector<std::string_view> fields_of(std::string_view text) {
  std::vector<std::string_view> fields;
  for (std::size_t blank = 0; blank != text.npos;) {
    blank = text.find(' ');
    fields.push_back(text.substr(0, blank));
    if (blank != text.npos) text.remove_prefix(blank + 1);
  }
  return fields;
}

// Whether a parameter can have this shape.
bool is_shape(const Dim& dim) { return dim.nd > 0 && dim.bd == 1 && dim.size() > 0; }

std::optional<Dim> parse_dim(std::string_view text) {
  if (text.find_first_not_of("{0123456789,}") != text.npos) return std::nullopt;
  std::istringstream stream{std::string(text)};
  Dim dim;
  stream >> dim;
  if (!stream || stream.peek() != std::istream::traits_type::eof() || !is_shape(dim))
    return std::nullopt;
  return dim;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t size = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, size);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return size;
}

// A single word: no spaces and no control characters.
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kHeaderBytes / 2 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte > 0x20 && byte != 0x7F;
         });
}

std::size_t written_bytes(std::span<const float> numbers) {
  std::size_t bytes = 1;  // the end of the line
  for (const float number : numbers) bytes += std::isfinite(number) ? kFiniteBytes : kOtherBytes;
  return bytes;
}

char* write_number(char* to, float number) {
  if (!std::signbit(number)) *to++ = '+';
  to = std::to_chars(to, to + kNumberBytes, number, std::chars_format::scientific, kDigits).ptr;
  *to++ = ' ';
  return to;
}

}  // namespace

TextModelReader::TextModelReader(const std::filesystem::path& path)
    : TextModelReader(open(path), path.string()) {}

TextModelReader::TextModelReader(std::unique_ptr<std::istream> stream, std::string file)
    : stream_(std::move(stream)), file_(std::move(file)), block_(kBlockBytes) {
  stream_->seekg(0, std::ios::end);
  const auto size = stream_->tellg();
  stream_->seekg(0);
  if (!*stream_ || size < 0) fail("a file that can be read from any place", "another", 0);
  file_size_ = static_cast<std::uint64_t>(size);
  need(kHeaderBytes);
  begin_ = byte_order_mark_bytes(ahead(), file_);
}

TextModelReader::~TextModelReader() = default;

void TextModelReader::fail(const std::string& need, const std::string& got, std::size_t line,
                           std::size_t column) const {
  throw FileError(file_, fmt::format("[text model] need {}; got {}", need, got), line, column);
}

// Reads until the block has so many bytes ahead, or the file ends.
void TextModelReader::need(std::size_t bytes) {
  if (end_ - begin_ >= bytes) return;
  std::memmove(block_.data(), block_.data() + begin_, end_ - begin_);
  block_position_ += begin_;
  end_ -= std::exchange(begin_, 0);
  stream_->read(block_.data() + end_, static_cast<std::streamsize>(block_.size() - end_));
  if (stream_->bad()) fail("to read the file", "an error", line_);
  end_ += static_cast<std::size_t>(stream_->gcount());
}

void TextModelReader::skip_numbers() {
  if (!std::exchange(unread_, false)) return;
  const std::uint64_t last = numbers_end_ - 1;
  if (last < block_position_ + end_) {
    begin_ = static_cast<std::size_t>(last - block_position_);
  } else {
    stream_->clear();  // an earlier read may have reached the end of the file
    stream_->seekg(static_cast<std::streamoff>(last));
    block_position_ = last;
    begin_ = end_ = 0;
  }
  need(1);
  if (!ahead().starts_with('\n')) {
    fail(fmt::format("the end of a line after {} of numbers", counted(bytes_, "byte")),
         quoted_text(ahead().substr(0, 1)), line_);
  }
  ++begin_;
}

bool TextModelReader::next() {
  skip_numbers();
  line_ = next_line_;
  need(kHeaderBytes);
  if (begin_ == end_) return false;
  const std::string_view text = ahead().substr(0, kHeaderBytes);
  const std::size_t length = text.find('\n');
  if (length == text.npos) {
    fail(fmt::format("a header line of less than {}", counted(kHeaderBytes, "byte")),
         quoted_text(text), line_);
  }
  begin_ += length + 1;
  parse_header(text.substr(0, length));
  unread_ = true;
  return true;
}

void TextModelReader::parse_header(std::string_view text) {
  const std::vector<std::string_view> fields = fields_of(text);
  if (fields.size() != 5 || (fields[0] != kParameter && fields[0] != kTable)) {
    fail("#Parameter# or #LookupParameter#, a name, a shape, a size and ZERO_GRAD or FULL_GRAD",
         quoted_text(text), line_);
  }
  if (!is_name(fields[1])) fail("a name", quoted_text(fields[1]), line_);
  const std::optional<Dim> dim = parse_dim(fields[2]);
  if (!dim) {
    fail("a shape such as {3,4}, of 1 to 2^31 - 1 elements and without a minibatch",
         quoted_text(fields[2]), line_);
  }
  if (fields[4] != kZeroGradient && fields[4] != kFullGradient) {
    fail("ZERO_GRAD or FULL_GRAD", quoted_text(fields[4]), line_);
  }
  header_ = {fields[0] == kTable, std::string(fields[1]), *dim, fields[4] == kFullGradient};
  // A number takes at least two bytes: a digit, and a space or the end of the line.
  const std::size_t lines = header_.has_gradient ? 2 : 1;
  const std::uint64_t least = std::uint64_t{2} * lines * dim->size();
  const std::uint64_t left = file_size_ - std::min(file_size_, position());
  const std::optional<std::uint64_t> bytes = parse_size(fields[3]);
  if (!bytes || *bytes < least || *bytes > left) {
    fail(fmt::format("{} to {} of numbers for {} in the rest of the file", least,
                     counted(left, "byte"), to_string(*dim)),
         quoted_text(fields[3]), line_);
  }
  bytes_ = *bytes;
  numbers_end_ = position() + bytes_;
  next_line_ = line_ + 1 + lines;
}

TextModelEntry TextModelReader::read() {
  if (!std::exchange(unread_, false)) {
    throw UsageError(
        "[TextModelReader::read] need a call of next() that found an object; got none");
  }
  TextModelEntry entry = {header_.is_table, header_.name, header_.dim, read_line(line_ + 1), {}};
  if (header_.has_gradient) entry.gradient = read_line(line_ + 2);
  if (position() != numbers_end_) {
    fail(fmt::format("{} of numbers, as they are there",
                     counted(bytes_ + position() - numbers_end_, "byte")),
         fmt::to_string(bytes_), line_);
  }
  return entry;
}

std::vector<float> TextModelReader::read_line(std::size_t line) {
  const std::uint64_t start = position();
  std::vector<float> numbers;
  numbers.reserve(header_.dim.size());
  while (numbers.size() < header_.dim.size()) {
    numbers.push_back(read_number(line, start, numbers.size()));
  }
  need(1);
  if (!ahead().starts_with('\n')) {
    fail(fmt::format("the end of the line after {}", counted(numbers.size(), "number")),
         quoted_text(ahead().substr(0, 1)), line, position() - start + 1);
  }
  ++begin_;
  return numbers;
}

// Reads a number and the space after it.
float TextModelReader::read_number(std::size_t line, std::uint64_t line_position,
                                   std::size_t index) {
  need(kNumberBytes);
  const std::string_view text = ahead().substr(0, kNumberBytes);
  const auto* stop =
      std::find_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\n'; });
  const std::string_view number(text.begin(), stop);
  const std::optional<float> value = parse_float(number);
  if (!value || stop == text.end()) {
    fail(fmt::format("{} for {}", counted(header_.dim.size(), "number"), to_string(header_.dim)),
         fmt::format("{} as number {}", quoted_text(number), index + 1), line,
         position() - line_position + 1);
  }
  begin_ += number.size() + (*stop == ' ' ? 1 : 0);
  return *value;
}

TextModelWriter::TextModelWriter(const std::filesystem::path& path, bool append)
    : file_(path), block_(kBlockBytes) {
  std::error_code error;
  if (!append || !std::filesystem::exists(path, error)) return;
  TextModelReader present(path);
  while (present.next()) {
  }
  const std::unique_ptr<std::istream> stream = open(path);
  do {
    stream->read(block_.data(), static_cast<std::streamsize>(block_.size()));
    file_.write(
        std::as_bytes(std::span(block_.data(), static_cast<std::size_t>(stream->gcount()))));
  } while (*stream);
  if (stream->bad()) throw FileError(path.string(), "[text model] the file cannot be read");
}

void TextModelWriter::write(const TextModelEntry& entry) {
  if (!is_name(entry.name) || !is_shape(entry.dim)) {
    throw UsageError(
        fmt::format("[TextModelWriter] need a name without blanks and a shape with "
                    "elements but no minibatch; got {} {}",
                    quoted_text(entry.name), to_string(entry.dim)));
  }
  const bool full = !entry.gradient.empty();
  if (entry.values.size() != entry.dim.size() ||
      (full && entry.gradient.size() != entry.dim.size())) {
    throw ShapeError(
        fmt::format("[TextModelWriter] need {} and as many gradients or none "
                    "for {}; got {} and {}",
                    counted(entry.dim.size(), "value"), to_string(entry.dim), entry.values.size(),
                    entry.gradient.size()));
  }
  const std::size_t bytes =
      written_bytes(entry.values) + (full ? written_bytes(entry.gradient) : 0);
  const std::string header =
      fmt::format("{} {} {} {} {}\n", entry.is_table ? kTable : kParameter, entry.name,
                  to_string(entry.dim), bytes, full ? kFullGradient : kZeroGradient);
  file_.write(std::as_bytes(std::span(header)));
  write_line(entry.values);
  if (full) write_line(entry.gradient);
}

void TextModelWriter::write_line(std::span<const float> numbers) {
  char* const start = block_.data();
  char* end = start;
  for (const float number : numbers) {
    end = write_number(end, number);
    if (end + kNumberBytes > start + block_.size()) {
      file_.write(std::as_bytes(std::span(start, end)));
      end = start;
    }
  }
  *end++ = '\n';
  file_.write(std::as_bytes(std::span(start, end)));
}

}  // namespace dynet_like::detail
