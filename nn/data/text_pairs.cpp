// Pairs of lines of two files, and pairs within lines.
#include "nn/data/text_pairs.h"

namespace dynet_like::nn {

namespace {

TextPair parse_scan(const TextLine& line) {
  constexpr std::string_view kStart = "IN: ", kMiddle = " OUT: ";
  const std::size_t middle = line.text.find(kMiddle);
  if (!line.text.starts_with(kStart) || middle == line.text.npos) {
    line.fail("need \"IN: \", a command, \" OUT: \" and actions; got " +
              detail::quoted_text(line.text));
  }
  // In "IN: OUT: I_WALK" the two marks overlap: the command is empty.
  const std::size_t length = middle < kStart.size() ? 0 : middle - kStart.size();
  const std::string_view command = line.text.substr(kStart.size(), length),
                         actions = line.text.substr(middle + kMiddle.size());
  if (is_blank(command)) line.fail("need a command; got nothing", command);
  if (is_blank(actions)) line.fail("need actions; got nothing", actions);
  return {std::string(command), std::string(actions), ""};
}

}  // namespace

std::vector<TextPair> read_parallel_text(TextSource first, TextSource second,
                                         const TextLimits& limits) {
  LineReader firsts(std::move(first), limits), seconds(std::move(second), limits);
  std::vector<TextPair> pairs;
  while (true) {
    const auto a = firsts.next(), b = seconds.next();
    if (!a && !b) break;
    if (!a || !b) {
      (a ? a : b)->fail("need as many lines as in " + (a ? seconds : firsts).name() + ", " +
                        std::to_string(pairs.size()) + "; got more");
    }
    pairs.push_back({std::string(a->text), std::string(b->text), ""});
  }
  if (pairs.empty()) throw FileError(firsts.name(), "need at least one line; got none");
  return pairs;
}

std::vector<TextPair> read_scan(TextSource source, const TextLimits& limits) {
  return parse_lines(std::move(source), limits, "line", parse_scan);
}

}  // namespace dynet_like::nn
