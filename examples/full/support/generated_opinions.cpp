// Opinions: sums of good words and bad ones.
#include "examples/full/support/generated.h"

#include <string>

#include "dynet_like/core/random.h"

namespace dynet_like::examples {

std::vector<nn::LabelledText> generated_opinions(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<nn::LabelledText> samples(count);
  for (auto& [label, text] : samples) {
    int sum = 0, sign = 1;
    for (std::uint64_t left = 3 + random.below(12); left > 0; --left) {
      const auto kind = random.below(6);
      if (!text.empty()) text += ' ';
      text += kind == 0   ? "good"
              : kind == 1 ? "bad"
              : kind == 2 ? "not"
                          : "word" + std::to_string(random.below(100));
      sum += kind == 0 ? sign : kind == 1 ? -sign : 0;
      sign = kind == 2 ? -1 : 1;
    }
    label = sum > 0 ? "positive" : sum < 0 ? "negative" : "neutral";
  }
  return samples;
}

}  // namespace dynet_like::examples
