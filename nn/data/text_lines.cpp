// Lines under limits, read block by block, and the tokens of bracketed text.
#include "nn/data/text_lines.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

namespace {

constexpr std::size_t kBlockBytes = 1 << 16;

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

std::ifstream open_text(const std::string& path, const TextLimits& limits) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw FileError(path, "there is no such file");
  if (std::filesystem::is_directory(status)) throw FileError(path, "need a file; got a directory");
  // A pipe's size is not known in advance: for pipes, the line reader counts.
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (!error) check_file_bytes(bytes, path, limits);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw FileError(path, "the file cannot be opened");
  return stream;
}

void check_line_bytes(std::string_view line, const std::string& file, std::size_t line_number,
                      const TextLimits& limits) {
  if (line.size() > limits.max_line_bytes) fail_line_bytes(file, line_number, limits);
}

LineReader::LineReader(std::istream& stream, std::string file, const TextLimits& limits)
    : stream_(stream), file_(std::move(file)), limits_(limits), block_(kBlockBytes) {}

bool LineReader::fill() {
  stream_.read(block_.data(), static_cast<std::streamsize>(block_.size()));
  if (stream_.bad()) throw FileError(file_, "the file cannot be read", number_ + 1);
  end_ = static_cast<std::size_t>(stream_.gcount());
  begin_ = file_bytes_ == 0 ? detail::byte_order_mark_bytes({block_.data(), end_}, file_) : 0;
  file_bytes_ += end_;
  check_file_bytes(file_bytes_, file_, limits_);
  return begin_ != end_;
}

bool LineReader::next(std::string_view& line) {
  line_.clear();
  bool anything = false, ended = false;
  while (!ended && (begin_ != end_ || fill())) {
    const char* start = block_.data() + begin_;
    const auto* newline = static_cast<const char*>(std::memchr(start, '\n', end_ - begin_));
    ended = newline != nullptr;
    const std::size_t length = ended ? static_cast<std::size_t>(newline - start) : end_ - begin_;
    if (length > limits_.max_line_bytes - line_.size()) {
      fail_line_bytes(file_, number_ + 1, limits_);
    }
    line_.append(start, length);
    begin_ += length + (ended ? 1 : 0);
    anything = true;
  }
  if (!anything) return false;
  ++number_;
  if (line_.ends_with('\r')) line_.pop_back();
  line = line_;
  return true;
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
