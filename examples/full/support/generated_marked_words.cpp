// Words whose tags depend on a marker far before them.
#include "examples/full/support/generated.h"

#include <string>

#include "dynet_like/core/random.h"

namespace dynet_like::examples {

std::vector<nn::TaggedSentence> generated_marked_words(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<nn::TaggedSentence> sentences(count);
  for (auto& [words, tags] : sentences) {
    bool noun = true;
    for (std::uint64_t left = 4 + random.below(16), i = 0; i < left; ++i) {
      const bool marks = i == 0 || random.below(5) == 0;
      if (marks) noun = random.below(2) == 0;
      words.push_back(marks ? noun ? "the" : "to" : "word" + std::to_string(random.below(50)));
      tags.push_back(marks ? noun ? "DET" : "PART" : noun ? "NOUN" : "VERB");
    }
  }
  return sentences;
}

}  // namespace dynet_like::examples
