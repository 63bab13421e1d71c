// Sentences from a small grammar, to train without a file.
#pragma once

#include <string>

#include "dynet_like/core/random.h"

namespace dynet_like::examples {

struct GrammarText {
  std::string text;  ///< one sentence per line
  double nats = 0;   ///< -ln of its probability; except by luck, no model can do better
};

/// Sentences such as "the old dog that the cats see sleeps". A verb has the number of its subject,
/// however far away that is. No sentence can be derived in two ways.
GrammarText grammar_text(unsigned sentences, Random& random);

}  // namespace dynet_like::examples
