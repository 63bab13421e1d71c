// Fuzzes the readers of pairs of texts: SCAN, and two files, which a zero byte parts here.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "nn/data/text_pairs.h"

namespace {

using namespace dynet_like;
using Pairs = std::vector<nn::TextPair>;

constexpr nn::TextLimits kLimits = {1000, 3000};  // narrow, so that short inputs reach them

void require(bool holds) {
  if (!holds) std::abort();
}

void check_scan(const std::string& text) {
  std::istringstream stream(text);
  try {
    const Pairs pairs = nn::read_scan(stream, "fuzz", kLimits);
    require(!pairs.empty());
    std::string written;
    for (const nn::TextPair& pair : pairs) {
      written += "IN: " + pair.first + " OUT: " + pair.second + "\r\n";
    }
    std::istringstream again(written);
    require(nn::read_scan(again, "again") == pairs);
  } catch (const FileError& error) {
    require(error.file() == "fuzz");
  }
}

void check_parallel_text(const std::string& first, const std::string& second) {
  std::istringstream first_stream(first), second_stream(second);
  try {
    const Pairs pairs =
        nn::read_parallel_text(first_stream, "fuzz", second_stream, "fuzz", kLimits);
    require(!pairs.empty());
    for (const nn::TextPair& pair : pairs) {
      require((pair.first + pair.second).find('\n') == std::string::npos);
    }
  } catch (const FileError& error) {
    require(error.file() == "fuzz");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_scan(text);
  const std::size_t middle = std::min(text.find('\0'), size);
  check_parallel_text(text.substr(0, middle), text.substr(std::min(middle + 1, size)));
  return 0;
}
