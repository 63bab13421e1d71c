// The synthetic data as text, for other frameworks: one instance per line, all numbers from 0.
#pragma once

#include <iosfwd>
#include <vector>

#include "bench/support/data.h"

namespace dynet_like::bench {

/// trees.txt: nested brackets, "(LABEL WORD)" for a leaf and "(LABEL LEFT RIGHT)" for an inner
/// node, such as "(3 (2 17) (4 (0 5) (1 17)))".
void write(std::ostream& out, const BinaryTree& tree);

/// tagger.txt: "WORD/TAG" for every word. language_model.txt has only the words, without tags.
void write(std::ostream& out, const Sentence& sentence);
void write_words(std::ostream& out, const Sentence& sentence);

/// tagger_rare_words.txt: a line "WORD CHARACTER CHARACTER ..." for every word that occurs at least
/// once and at most `most` times.
void write_rare_words(std::ostream& out, const std::vector<Sentence>& sentences,
                      const std::vector<std::vector<unsigned>>& spellings, unsigned most);

/// lattices.txt: the tags of positions 1, 2, ..., then "|", then the arcs "BEGIN/END/WORD", sorted
/// by END. Position 0 is the start and has no tag.
void write(std::ostream& out, const Lattice& lattice);

/// dags.txt: nodes in order, "word/WORD" or "KIND/P/Q" with the numbers of two earlier nodes, where
/// KIND is combine, gate or gru. A node that is not read by others is followed by "=LABEL", as in
/// "word/17 word/4 gate/1/0 gru/2/0=3".
void write(std::ostream& out, const RandomDag& dag);

}  // namespace dynet_like::bench
