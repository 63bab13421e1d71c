// Sentences of an artificial language, so that the tagger can be tried without any file.
#pragma once

#include <cstddef>
#include <vector>

#include "dynet_like/core/random.h"
#include "nn/data/tagged_sentences.h"

namespace dynet_like::examples {

/// Random sentences with the parts of speech of their words. Nouns, verbs and the like are made of
/// random syllables, so that most are never seen twice: some are known by their endings ("-ous",
/// "-ly", "-ed"), but whether a word without ending is a noun or a verb only its sentence tells.
std::vector<nn::TaggedSentence> generate_sentences(std::size_t count, Random& random);

}  // namespace dynet_like::examples
