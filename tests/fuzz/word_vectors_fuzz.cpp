// Fuzzes the reader of word vectors, as text and as arrays: equal sizes, finite numbers, no more
// words than are announced or wanted, and skipped lines are counted.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "nn/data/word_vectors.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/zip_archive.h"

namespace dynet_like::fuzz {

namespace {

constexpr std::size_t kRefused = std::numeric_limits<std::size_t>::max();

bool is_word(std::string_view word) {
  const bool is_blank = word == " " || word == "\t";
  return !word.empty() && word.find('\n') == word.npos &&
         (is_blank || (word.front() != ' ' && word.back() != ' '));
}

/// How many words there are, or kRefused.
std::size_t words_of(const std::string& text, std::uint64_t* skipped, std::uint64_t most) {
  // Narrow limits, so that short inputs reach them.
  const nn::WordVectorOptions options = {
      .most_words = most,
      .skipped_lines = skipped,
      .limits = {.max_line_bytes = 1000, .max_file_bytes = 3000}};
  std::size_t words = 0;
  try {
    nn::WordVectorReader reader(nn::TextSource::of(text, "fuzz"), options);
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
  } catch (const FileError& error) {
    require(error.file() == "fuzz");
    return kRefused;
  }
}

/// Reads arrays. Each is a length of two bytes, and then a file of numpy.
void read_arrays(std::string_view data) {
  std::vector<ZipMember> arrays;
  for (const char* name : {"keys.npy", "vectors.npy", "rows.npy"}) {
    if (data.size() < 2) break;
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(data[i]); };
    const std::size_t size = std::min<std::size_t>(byte(0) | byte(1) << 8, data.size() - 2);
    arrays.push_back({.name = name, .bytes = std::string(data.substr(2, size))});
    data.remove_prefix(2 + size);
  }
  try {
    const auto file = NumpyFile::parse(archive_of(arrays), "fuzz", 0);
    std::size_t words = 0;
    nn::WordVectorReader reader(file);
    for (; reader.next(); ++words) {
      require(!reader.word().empty() && reader.size() > 0);
      require(reader.vector().size() == reader.size());
      for (const float number : reader.vector()) require(std::isfinite(number));
    }
    require(words == file.find("keys")->shape[0]);
  } catch (const FileError& error) {
    require(error.file() == "fuzz");
  }
}

}  // namespace

void run(const std::string& text) {
  read_arrays(text);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  std::uint64_t skipped = 0, ignored = 0;
  const std::size_t all = words_of(text, nullptr, lines), most = words_of(text, &skipped, lines);
  require(all == kRefused || (all == most && skipped == 0));
  require(most == kRefused || most + skipped <= lines);
  const std::size_t first = words_of(text, &ignored, 1);
  require(most == kRefused || first == std::min<std::size_t>(most, 1));
}

}  // namespace dynet_like::fuzz
