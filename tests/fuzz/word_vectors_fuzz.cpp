// Fuzzes the reader of word vectors: equal sizes, finite numbers, no more words than are announced
// or wanted, and what is skipped is counted.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>

#include "dynet_like/core/errors.h"
#include "nn/data/word_vectors.h"

namespace {

constexpr std::size_t kRefused = std::numeric_limits<std::size_t>::max();

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_word(std::string_view word) {
  const bool is_blank = word == " " || word == "\t";
  return !word.empty() && word.find('\n') == word.npos &&
         (is_blank || (word.front() != ' ' && word.back() != ' '));
}

/// How many words there are, or kRefused.
std::size_t words_of(const std::string& text, std::uint64_t* skipped, std::uint64_t most) {
  // Narrow limits, so that short inputs reach them.
  const dynet_like::nn::WordVectorOptions options = {
      .most_words = most,
      .skipped_lines = skipped,
      .limits = {.max_line_bytes = 1000, .max_file_bytes = 3000}};
  std::istringstream stream(text);
  std::size_t words = 0;
  try {
    dynet_like::nn::WordVectorReader reader(stream, "fuzz", options);
    std::size_t length = 0;
    for (; reader.next(); ++words) {
      require(words < most && is_word(reader.word()));
      require(length == 0 || reader.vector().size() == length);
      length = reader.vector().size();
      require(length > 0 && length <= 500 && length == reader.size());
      for (const float number : reader.vector()) require(std::isfinite(number));
    }
    require(!reader.next());
    return words;
  } catch (const dynet_like::FileError& error) {
    require(error.file() == "fuzz");
    return kRefused;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  std::uint64_t skipped = 0, ignored = 0;
  const std::size_t all = words_of(text, nullptr, lines), most = words_of(text, &skipped, lines);
  require(all == kRefused || (all == most && skipped == 0));
  require(most == kRefused || most + skipped <= lines);
  const std::size_t first = words_of(text, &ignored, 1);
  require(most == kRefused || first == std::min<std::size_t>(most, 1));
  return 0;
}
