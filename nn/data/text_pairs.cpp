// Pairs of lines of two files, and pairs within lines.
#include "nn/data/text_pairs.h"

#include <string_view>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

namespace {

TextPair parse_scan(std::string_view line, const std::string& file, std::size_t line_number) {
  constexpr std::string_view kStart = "IN: ", kMiddle = " OUT: ";
  const std::size_t middle = line.find(kMiddle);
  if (!line.starts_with(kStart) || middle == line.npos) {
    throw FileError(
        file, "need \"IN: \", a command, \" OUT: \" and actions; got " + detail::quoted_text(line),
        line_number);
  }
  // In "IN: OUT: I_WALK" the two marks overlap: the command is empty.
  const std::string_view command =
      middle < kStart.size() ? "" : line.substr(kStart.size(), middle - kStart.size());
  const std::string_view actions = line.substr(middle + kMiddle.size());
  if (is_blank(command)) {
    throw FileError(file, "need a command; got nothing", line_number, kStart.size() + 1);
  }
  if (is_blank(actions)) {
    throw FileError(file, "need actions; got nothing", line_number, middle + kMiddle.size() + 1);
  }
  return {std::string(command), std::string(actions), ""};
}

}  // namespace

std::vector<TextPair> read_parallel_text(std::istream& first, const std::string& first_file,
                                         std::istream& second, const std::string& second_file,
                                         const TextLimits& limits) {
  LineReader first_lines(first, first_file, limits), second_lines(second, second_file, limits);
  std::vector<TextPair> pairs;
  std::string_view first_line, second_line;
  while (true) {
    const bool has_first = first_lines.next(first_line),
               has_second = second_lines.next(second_line);
    if (has_first != has_second) {
      throw FileError(has_first ? first_file : second_file,
                      "need as many lines as in " + (has_first ? second_file : first_file) + ", " +
                          std::to_string(pairs.size()) + "; got more",
                      pairs.size() + 1);
    }
    if (!has_first) break;
    pairs.push_back({std::string(first_line), std::string(second_line), ""});
  }
  if (pairs.empty()) throw FileError(first_file, "need at least one line; got none");
  return pairs;
}

std::vector<TextPair> read_parallel_text(const std::string& first_path,
                                         const std::string& second_path, const TextLimits& limits) {
  std::ifstream first = open_text(first_path, limits), second = open_text(second_path, limits);
  return read_parallel_text(first, first_path, second, second_path, limits);
}

std::vector<TextPair> read_scan(std::istream& stream, const std::string& file,
                                const TextLimits& limits) {
  LineReader lines(stream, file, limits);
  std::vector<TextPair> pairs;
  std::string_view line;
  while (lines.next(line)) {
    if (!is_blank(line)) pairs.push_back(parse_scan(line, file, lines.number()));
  }
  if (pairs.empty()) throw FileError(file, "need at least one line; got none");
  return pairs;
}

std::vector<TextPair> read_scan(const std::string& path, const TextLimits& limits) {
  std::ifstream stream = open_text(path, limits);
  return read_scan(stream, path, limits);
}

}  // namespace dynet_like::nn
