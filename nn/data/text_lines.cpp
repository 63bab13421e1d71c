// Lines under limits, read block by block, and the tokens of bracketed text.
#include "nn/data/text_lines.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "dynet_like/core/counted.h"

namespace dynet_like::nn {

namespace {

constexpr std::size_t kBlockBytes = 1 << 16;
constexpr std::string_view kBlanks = " \t";

void check_file_bytes(std::uintmax_t bytes, const std::string& file, const TextLimits& limits) {
  if (bytes > limits.max_file_bytes) {
    throw FileError(file, "need at most " + detail::counted(limits.max_file_bytes, "byte") +
                              " in the file; got " + std::to_string(bytes) + " or more");
  }
}

[[noreturn]] void fail_line_bytes(const std::string& file, std::size_t line_number,
                                  const TextLimits& limits) {
  throw FileError(file,
                  "need at most " + detail::counted(limits.max_line_bytes, "byte") + " in a line",
                  line_number);
}

}  // namespace

TextSource::TextSource(std::istream& stream, std::string name)
    : name_(std::move(name)), stream_(std::shared_ptr<void>(), &stream) {}

TextSource TextSource::of(std::string text, std::string name) {
  TextSource source(std::move(name));
  source.stream_ = std::make_shared<std::istringstream>(std::move(text));
  return source;
}

std::istream& TextSource::open(const TextLimits& limits) {
  if (stream_) return *stream_;
  if (name_.empty()) {
    throw UsageError("[TextSource] need a path; got an empty one, or a source that was moved from");
  }
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(name_, error);
  if (!std::filesystem::exists(status)) throw FileError(name_, "there is no such file");
  if (std::filesystem::is_directory(status)) throw FileError(name_, "need a file; got a directory");
  // A pipe's size is not known in advance: for pipes, the line reader counts.
  const std::uintmax_t bytes = std::filesystem::file_size(name_, error);
  if (!error) check_file_bytes(bytes, name_, limits);
  stream_ = std::make_shared<std::ifstream>(name_, std::ios::binary);
  if (!*stream_) throw FileError(name_, "the file cannot be opened");
  return *stream_;
}

void TextLine::fail(const std::string& what, std::string_view at) const {
  const bool has_column = at.data() != nullptr;
  throw FileError(file, what, number,
                  has_column ? static_cast<std::size_t>(at.data() - text.data()) + 1 : 0);
}

void TextLine::check_bytes(const TextLimits& limits) const {
  if (text.size() > limits.max_line_bytes) fail_line_bytes(file, number, limits);
}

std::vector<std::string_view> TextLine::columns() const {
  std::vector<std::string_view> result;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\t', begin), text.size());
    result.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

std::vector<std::string_view> TextLine::columns(std::size_t count) const {
  // Counts first, so that a line of nothing but tabs takes no memory.
  const auto tabs = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\t'));
  if (tabs + 1 != count) {
    fail("need " + detail::counted(count, "column") + " with tabs between them; got " +
         std::to_string(tabs + 1));
  }
  return columns();
}

std::vector<std::string_view> TextLine::words() const {
  std::vector<std::string_view> result;
  for (std::size_t end = 0, begin; (begin = text.find_first_not_of(kBlanks, end)) != text.npos;) {
    end = std::min(text.find_first_of(kBlanks, begin), text.size());
    result.push_back(text.substr(begin, end - begin));
  }
  return result;
}

LineReader::LineReader(TextSource source, const TextLimits& limits)
    : source_(std::move(source)),
      limits_(limits),
      stream_(source_.open(limits)),
      block_(kBlockBytes) {}

bool LineReader::fill() {
  stream_.read(block_.data(), static_cast<std::streamsize>(block_.size()));
  if (stream_.bad()) throw FileError(name(), "the file cannot be read", number_ + 1);
  end_ = static_cast<std::size_t>(stream_.gcount());
  begin_ = file_bytes_ == 0 ? detail::byte_order_mark_bytes({block_.data(), end_}, name()) : 0;
  file_bytes_ += end_;
  check_file_bytes(file_bytes_, name(), limits_);
  return begin_ != end_;
}

std::optional<TextLine> LineReader::next() {
  line_.clear();
  bool anything = false, ended = false;
  while (!ended && (begin_ != end_ || fill())) {
    const char* start = block_.data() + begin_;
    const auto* newline = static_cast<const char*>(std::memchr(start, '\n', end_ - begin_));
    ended = newline != nullptr;
    const std::size_t length = ended ? static_cast<std::size_t>(newline - start) : end_ - begin_;
    if (length > limits_.max_line_bytes - line_.size()) {
      fail_line_bytes(name(), number_ + 1, limits_);
    }
    line_.append(start, length);
    begin_ += length + (ended ? 1 : 0);
    anything = true;
  }
  if (!anything) return {};
  ++number_;
  if (line_.ends_with('\r')) line_.pop_back();
  return TextLine{line_, name(), number_};
}

std::optional<TextLine> LineReader::next_filled() {
  while (const auto line = next()) {
    if (!line->is_blank()) return line;
  }
  return {};
}

void BracketTokens::skip_spaces() {
  position_ = std::min(line_.find_first_not_of(' ', position_), line_.size());
}

bool BracketTokens::at_bracket_or_end() {
  skip_spaces();
  return position_ == line_.size() || line_[position_] == '(' || line_[position_] == ')';
}

std::string_view BracketTokens::next() {
  const bool bracket_or_end = at_bracket_or_end();
  start_ = position_;
  if (bracket_or_end) {
    position_ = std::min(position_ + 1, line_.size());
  } else {
    position_ = std::min(line_.find_first_of(" ()", position_), line_.size());
  }
  return line_.substr(start_, position_ - start_);
}

}  // namespace dynet_like::nn
