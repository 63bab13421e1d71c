// Fuzzes the reader of CoNLL-U: what it accepts must be sentences and survive a round trip.
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "nn/data/tagged_sentences.h"

namespace {

using dynet_like::nn::TaggedSentence;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Narrow limits, so that short inputs reach them.
  const dynet_like::nn::TextLimits limits = {1000, 3000};
  std::istringstream stream(std::string(reinterpret_cast<const char*>(data), size));
  try {
    const std::vector<TaggedSentence> sentences =
        dynet_like::nn::read_conllu(stream, "fuzz", limits);
    require(!sentences.empty());
    std::string text;
    for (const TaggedSentence& sentence : sentences) {
      require(!sentence.words.empty() && sentence.words.size() == sentence.tags.size());
      for (std::size_t i = 0; i < sentence.words.size(); ++i) {
        require(!sentence.words[i].empty() && !sentence.tags[i].empty());
        text += std::to_string(i + 1) + "\t" + sentence.words[i] + "\t_\t" + sentence.tags[i] +
                "\t_\t_\t_\t_\t_\t_\n";
      }
      text += "\n";
    }
    std::istringstream again(text);
    require(dynet_like::nn::read_conllu(again, "again", {}) == sentences);
  } catch (const dynet_like::FileError& error) {
    require(error.file() == "fuzz");
  }
  return 0;
}
