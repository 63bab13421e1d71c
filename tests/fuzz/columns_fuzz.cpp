// Fuzzes the reader of columns: what it accepts must be sentences and survive a round trip.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "nn/data/tagged_sentences.h"

namespace {

using namespace dynet_like;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const std::string& input, const nn::TaggedColumns& columns) {
  std::istringstream stream(input);
  try {
    const auto sentences = nn::read_columns(stream, "fuzz", columns);
    require(!sentences.empty());
    std::string text = "\xEF\xBB\xBF";  // a first word that begins like a mark is text behind one
    for (const nn::TaggedSentence& sentence : sentences) {
      require(!sentence.words.empty() && sentence.words.size() == sentence.tags.size());
      for (std::size_t i = 0; i < sentence.words.size(); ++i) {
        require(!sentence.words[i].empty() && !sentence.tags[i].empty());
        require(sentence.words[i] != "-DOCSTART-");
        // A column more: a tag may end in "\r", and a line of blanks would end the sentence.
        text += sentence.words[i] + "\t" + sentence.tags[i] + "\t.\n";
      }
      text += "\n";
    }
    std::istringstream again(text);
    require(nn::read_columns(again, "again", {.count = 3}) == sentences);
  } catch (const FileError& error) {
    require(error.file() == "fuzz");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  // Narrow limits, so that short inputs reach them.
  const nn::TextLimits limits = {1000, 3000};
  check(input, {.limits = limits});
  check(input, {.count = 4, .word = 0, .tag = 3, .by_spaces = true, .limits = limits});
  check(input, {.count = 0, .word = 1, .tag = 0, .comments = true, .limits = limits});
  check(input,
        {.count = 0, .word = 0, .tag = 2, .by_spaces = true, .comments = true, .limits = limits});
  return 0;
}
