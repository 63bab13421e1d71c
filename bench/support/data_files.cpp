// Writes the data sets.
#include "bench/support/data_files.h"

#include <ostream>

namespace dynet_like::bench {

namespace {

// Separates the entries of a line.
class Separator {
 public:
  friend std::ostream& operator<<(std::ostream& out, Separator& separator) {
    if (separator.used_) out << ' ';
    separator.used_ = true;
    return out;
  }

 private:
  bool used_ = false;
};

void write(std::ostream& out, const BinaryTree& tree, unsigned at) {
  const BinaryTree::Node& node = tree.nodes[at];
  out << '(' << node.label << ' ';
  if (node.is_leaf()) {
    out << node.word;
  } else {
    write(out, tree, node.left);
    out << ' ';
    write(out, tree, node.right);
  }
  out << ')';
}

const char* name_of(RandomDag::Kind kind) {
  switch (kind) {
    case RandomDag::Kind::combine:
      return "combine";
    case RandomDag::Kind::gate:
      return "gate";
    case RandomDag::Kind::gru:
      return "gru";
    default:
      return "word";
  }
}

}  // namespace

void write(std::ostream& out, const BinaryTree& tree) {
  write(out, tree, static_cast<unsigned>(tree.nodes.size() - 1));
}

void write(std::ostream& out, const Sentence& sentence) {
  Separator space;
  for (std::size_t i = 0; i < sentence.words.size(); ++i) {
    out << space << sentence.words[i] << '/' << sentence.tags[i];
  }
}

void write_words(std::ostream& out, const Sentence& sentence) {
  Separator space;
  for (unsigned word : sentence.words) out << space << word;
}

void write_rare_words(std::ostream& out, const std::vector<Sentence>& sentences,
                      const std::vector<std::vector<unsigned>>& spellings, unsigned most) {
  const auto vocabulary = static_cast<unsigned>(spellings.size());
  const std::vector<unsigned> counts = count_words(sentences, vocabulary);
  for (unsigned word = 0; word < vocabulary; ++word) {
    if (counts[word] == 0 || counts[word] > most) continue;
    out << word;
    for (unsigned character : spellings[word]) out << ' ' << character;
    out << '\n';
  }
}

void write(std::ostream& out, const Lattice& lattice) {
  Separator space;
  for (unsigned tag : lattice.tags) out << space << tag;
  out << " |";
  for (const Lattice::Arc& arc : lattice.arcs) {
    out << ' ' << arc.begin << '/' << arc.end << '/' << arc.word;
  }
}

void write(std::ostream& out, const RandomDag& dag) {
  Separator space;
  for (const RandomDag::Node& node : dag.nodes) {
    out << space << name_of(node.kind) << '/' << node.a;
    if (node.kind != RandomDag::Kind::word) out << '/' << node.b;
    if (node.is_sink) out << '=' << node.label;
  }
}

}  // namespace dynet_like::bench
