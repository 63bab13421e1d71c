// Fuzzes the reader of CoNLL-U: what it accepts must be sentences and survive a round trip.
#include "tests/fuzz/tagged_sentences.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dynet_like::nn;
  return check_tagged_sentences(
      data, size,
      [](std::istream& stream, const char* file, const TextLimits& limits) {
        return read_conllu(stream, file, limits);
      },
      [](const TaggedSentence& sentence, std::size_t i) {
        return std::to_string(i + 1) + "\t" + sentence.words[i] + "\t_\t" + sentence.tags[i] +
               "\t_\t_\t_\t_\t_\t_\n";
      });
}
