// Fuzzes the readers of pairs of texts: SCAN, and two files, which a zero byte parts here.
#include <algorithm>
#include <string>
#include <vector>

#include "nn/data/text_pairs.h"
#include "tests/fuzz/fuzz.h"

namespace dynet_like::fuzz {

namespace {

using Pairs = std::vector<nn::TextPair>;

constexpr nn::TextLimits kLimits = {1000, 3000};  // narrow, so that short inputs reach them

void check_scan(const std::string& text) {
  const Pairs pairs = nn::read_scan(nn::TextSource::of(text, "fuzz"), kLimits);
  require(!pairs.empty());
  std::string written;
  for (const nn::TextPair& pair : pairs) {
    written += "IN: " + pair.first + " OUT: " + pair.second + "\r\n";
  }
  require(nn::read_scan(nn::TextSource::of(written, "again")) == pairs);
}

void check_parallel_text(const std::string& first, const std::string& second) {
  const Pairs pairs = nn::read_parallel_text(nn::TextSource::of(first, "fuzz"),
                                             nn::TextSource::of(second, "fuzz"), kLimits);
  require(!pairs.empty());
  for (const nn::TextPair& pair : pairs) {
    require((pair.first + pair.second).find('\n') == std::string::npos);
  }
}

}  // namespace

void run(const std::string& input) {
  may_refuse([&] { check_scan(input); });
  const std::size_t middle = std::min(input.find('\0'), input.size());
  may_refuse([&] {
    check_parallel_text(input.substr(0, middle), input.substr(std::min(middle + 1, input.size())));
  });
}

}  // namespace dynet_like::fuzz
