// Sentences from a small grammar, to learn without a file.
#pragma once

#include <string>

#include "dynet_like/core/random.h"

namespace dynet_like::examples {

struct GrammarText {
  std::string text;  ///< a sentence per line
  double nats = 0;   ///< -ln of its probability: no model can do better, but for good luck
};

/// Sentences such as "the old dog that the cats see sleeps". A verb has the number of its subject,
/// however much lies between; no sentence can be derived in two ways.
GrammarText grammar_text(unsigned sentences, Random& random);

}  // namespace dynet_like::examples
