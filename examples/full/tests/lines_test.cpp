// Answers to the lines of a stream, a few at a time.
#include "examples/full/support/lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "dynet_like/core/errors.h"

namespace dynet_like::examples {
namespace {

TEST(LinesTest, AreAnsweredInOrder) {
  for (const std::size_t together : {1u, 2u, 3u, 100u}) {
    std::istringstream in("one\n\nthree\r\nfour\nfive");
    std::ostringstream out;
    std::vector<std::size_t> counts;
    answer_lines(in, out, together, [&](std::span<const std::string> lines, std::size_t first) {
      std::string text;
      for (const std::string& line : lines) text += std::to_string(first++) + line + ';';
      counts.push_back(lines.size());
      return text;
    });
    EXPECT_EQ(out.str(), "1one;2;3three;4four;5five;");
    EXPECT_EQ(counts.size(), (5 + together - 1) / together);
    EXPECT_EQ(counts.front(), std::min<std::size_t>(together, 5));
  }
  std::istringstream nothing("");
  std::ostringstream out;
  answer_lines(nothing, out, 4, [](auto, std::size_t) { return std::string("never"); });
  EXPECT_EQ(out.str(), "");
}

TEST(LinesTest, LongLinesAreFewTogether) {
  std::istringstream in(std::string(60'000, 'a') + '\n' + std::string(60'000, 'b') + "\nc\n");
  std::ostringstream out;
  std::vector<std::size_t> counts;
  answer_lines(in, out, 100, [&](std::span<const std::string> lines, std::size_t) {
    counts.push_back(lines.size());
    return std::string();
  });
  EXPECT_EQ(counts, (std::vector<std::size_t>{2, 1}));
}

TEST(LinesTest, ErrorsAreNotSilent) {
  const auto echo = [](std::span<const std::string> lines, std::size_t) { return lines[0]; };
  std::istringstream in("a\nb\n"), long_line("a a a a a a");
  std::ostringstream out;
  EXPECT_THROW(answer_lines(long_line, out, 4, echo, {10, 100}), FileError);
  out.setstate(std::ios::badbit);
  EXPECT_THROW(answer_lines(in, out, 1, echo), FileError);
}

}  // namespace
}  // namespace dynet_like::examples
