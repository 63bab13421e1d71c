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

}  // namespace dynet_like::bench
