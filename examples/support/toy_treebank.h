// Sentences with dependency trees that a parser can learn within seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nn/data/conllu.h"

namespace dynet_like::examples {

/// So many random sentences of a toy grammar, in which "with ropes" depends on the verb and "with
/// hats" on the noun before it. All trees are projective.
std::vector<nn::ConlluSentence> toy_treebank(std::uint64_t seed, std::size_t count);

}  // namespace dynet_like::examples
