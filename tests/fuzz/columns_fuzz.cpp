// Fuzzes the reader of columns: what it accepts must be sentences and survive a round trip.
#include "tests/fuzz/tagged_sentences.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dynet_like::nn;
  return check_tagged_sentences(
      data, size,
      [](std::istream& stream, const char* file, const TextLimits& limits) {
        return read_columns(stream, file, limits);
      },
      [](const TaggedSentence& sentence, std::size_t i) {
        return sentence.words[i] + "\t" + sentence.tags[i] + "\r\n";  // a tag may end in "\r"
      });
}
