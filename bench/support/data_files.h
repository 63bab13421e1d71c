// The synthetic data as text, for other frameworks: one instance per line, all numbers from 0.
#pragma once

#include <iosfwd>

#include "bench/support/data.h"

namespace dynet_like::bench {

/// trees.txt: nested brackets, "(LABEL WORD)" for a leaf and "(LABEL LEFT RIGHT)" for an inner
/// node, such as "(3 (2 17) (4 (0 5) (1 17)))".
void write(std::ostream& out, const BinaryTree& tree);

/// tagger.txt: "WORD/TAG" for every word. language_model.txt has only the words, without tags.
void write(std::ostream& out, const Sentence& sentence);
void write_words(std::ostream& out, const Sentence& sentence);

}  // namespace dynet_like::bench
