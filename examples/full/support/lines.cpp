// Lines in minibatches.
#include "examples/full/support/lines.h"

#include <vector>

#include "examples/full/support/program.h"

namespace dynet_like::examples {

void answer_lines(std::istream& in, std::ostream& out, std::size_t together,
                  const AnswerLines& answer, const nn::TextLimits& limits) {
  constexpr std::size_t kBytesTogether = 1 << 16;
  std::vector<std::string> lines;
  std::size_t bytes = 0, first = 1;
  const auto finish = [&] {
    out << answer(lines, first) << std::flush;
    if (!out) fail_output();
    first += lines.size();
    lines.clear();
    bytes = 0;
  };
  nn::LineReader reader({in, kStandardInput}, limits);
  while (const auto line = reader.next()) {
    lines.emplace_back(line->text);
    bytes += line->text.size();
    if (lines.size() == together || bytes >= kBytesTogether) finish();
  }
  if (!lines.empty()) finish();
}

}  // namespace dynet_like::examples
