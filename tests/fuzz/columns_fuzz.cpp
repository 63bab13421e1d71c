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

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dynet_like;
  std::istringstream stream(std::string(reinterpret_cast<const char*>(data), size));
  try {
    // Narrow limits, so that short inputs reach them.
    const auto sentences = nn::read_columns(stream, "fuzz", {1000, 3000});
    require(!sentences.empty());
    std::string text = "\xEF\xBB\xBF";  // a first word that begins like a mark is text behind one
    for (const nn::TaggedSentence& sentence : sentences) {
      require(!sentence.words.empty() && sentence.words.size() == sentence.tags.size());
      for (std::size_t i = 0; i < sentence.words.size(); ++i) {
        require(!sentence.words[i].empty() && !sentence.tags[i].empty());
        text += sentence.words[i] + "\t" + sentence.tags[i] + "\r\n";  // a tag may end in "\r"
      }
      text += "\n";
    }
    std::istringstream again(text);
    require(nn::read_columns(again, "again") == sentences);
  } catch (const FileError& error) {
    require(error.file() == "fuzz");
  }
  return 0;
}
