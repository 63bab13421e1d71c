// Word dropout: one number for each word.
#include "nn/drop_words.h"

#include <string>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

std::vector<unsigned> drop_words(ComputationGraph& graph, std::vector<unsigned> words,
                                 unsigned instead, float p) {
  if (!(p >= 0 && p <= 1)) {
    throw UsageError("[drop_words] need a probability of 0 to 1; got " + std::to_string(p));
  }
  if (graph.record().options().inference || p == 0) return words;
  Random random = graph.random();
  for (unsigned& word : words) {
    if (random.uniform() < static_cast<double>(p)) word = instead;
  }
  return words;
}

}  // namespace dynet_like::nn
