// Sentences of an artificial language, to try the tagger without files.
#pragma once

#include <cstddef>
#include <vector>

#include "dynet_like/core/random.h"
#include "nn/data/tagged_sentences.h"

namespace dynet_like::examples {

/// Random sentences with the parts of speech of their words. Nouns, verbs and the like are made of
/// random syllables, so most words occur only once. Some can be recognised by their endings
/// ("-ous", "-ly", "-ed"). But for a word without ending, only its sentence tells whether it is a
/// noun or a verb.
std::vector<nn::TaggedSentence> generate_sentences(std::size_t count, Random& random);

}  // namespace dynet_like::examples
