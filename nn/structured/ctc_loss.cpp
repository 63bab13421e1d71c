// The loss of connectionist temporal classification, a recursion over steps and blocks of states.
#include <array>
#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/graph/recursion.h"
#include "nn/structured/ctc.h"

namespace dynet_like::nn {

namespace {

/// States are cut into blocks of so many, the last one filled up: vectors of one size, whatever the
/// number of labels, so that all samples share batches.
constexpr unsigned kBlock = 16;
/// ln of the probability of what cannot be: finite, so that its differences are numbers.
constexpr float kImpossible = -1e30f;

/// What a path can be in the middle of: the blank before the first label, this label, the blank
/// behind it, the next label, and so on. A path stays in a state, or goes on to the next; from a
/// label to the next label only if they differ.
class Path {
 public:
  Path(std::span<const unsigned> labels, unsigned blank) : labels_(labels), blank_(blank) {}

  unsigned states() const { return 2 * static_cast<unsigned>(labels_.size()) + 1; }
  unsigned blocks() const { return (states() + kBlock - 1) / kBlock; }

  std::vector<unsigned> classes(unsigned block) const {
    std::vector<unsigned> classes;
    for (unsigned i = 0; i < kBlock; ++i) classes.push_back(class_of(block * kBlock + i));
    return classes;
  }
  /// What is added to a path that stays in a state, comes from the one before, or from the one
  /// before that: 0 where it may, else kImpossible. All paths begin two states before the second.
  std::vector<float> ways(unsigned block) const {
    std::vector<float> ways(2 * kBlock, 0);
    for (unsigned state = block * kBlock; state < (block + 1) * kBlock; ++state) {
      const bool skips_blank = state % 2 == 1 && state < states() &&
                               (state == 1 || class_of(state) != class_of(state - 2));
      ways.push_back(skips_blank ? 0 : kImpossible);
    }
    return ways;
  }

 private:
  /// States behind the last one are blanks, too. No path comes back from them.
  unsigned class_of(unsigned state) const {
    return state % 2 == 1 && state < states() ? labels_[state / 2] : blank_;
  }

  std::span<const unsigned> labels_;
  unsigned blank_;
};

/// What a vertex, a block of states at a step, has as predecessors: itself a step before, the block
/// before it, or both in this order. There are no paths in what is missing.
enum Kind : unsigned { itself, block_before, both };

// For every state, ln of the probability of all paths that are in it: of those that were in it, in
// the state before and in the one before that. A column has what is emitted here, and the ways.
Expression paths_after(unsigned kind, const Expression& column,
                       const std::vector<Expression>& before) {
  static const std::vector<unsigned> shifted = [] {
    std::vector<unsigned> places;
    for (unsigned back = 0; back < 3; ++back) {
      for (unsigned i = 0; i < kBlock; ++i) places.push_back(i + 2 - back);
    }
    return places;
  }();
  ComputationGraph& graph = *column.pg;
  const Expression last_two = kind == itself ? constant(graph, {2}, kImpossible)
                                             : pick_range(before.back(), kBlock - 2, kBlock);
  const Expression here = kind == block_before ? constant(graph, {kBlock}, kImpossible) : before[0];
  const Expression from = select_rows(concatenate({last_two, here}), shifted);
  const Expression ways = pick_range(column, kBlock, 4 * kBlock);
  return logsumexp_dim(reshape(from + ways, {kBlock, 3}), 1) + pick_range(column, 0, kBlock);
}

/// The blocks that a path can be in at a step, step by step.
class Lattice {
 public:
  Lattice(const Path& path, unsigned steps) : last_(path.blocks(), kNone) {
    for (unsigned step = 0; step < steps; ++step) {
      // From the last block on: each needs the one before as it was.
      for (unsigned block = path.blocks(); block-- > 0;) {
        // What paths have not come to yet, or from where none can come to the end.
        const unsigned end = (block + 1) * kBlock;
        const bool is_late = end + 2 * (steps - step) <= path.states();
        if (block * kBlock > 2 * step + 1 || (step > 0 && is_late)) continue;
        add(step, block, steps);
      }
    }
  }

  Structure structure() const {
    std::vector<Structure::Vertex> vertices;
    for (const Vertex& each : vertices_) {
      vertices.push_back({std::span(each.before).first(each.count), each.column, each.kind});
    }
    return Structure(vertices);
  }
  bool reaches(unsigned block) const { return last_[block] != kNone; }
  /// The vertex of a block at the last step.
  unsigned last(unsigned block) const { return last_[block]; }

 private:
  static constexpr unsigned kNone = ~0u;
  struct Vertex {
    std::array<unsigned, 2> before = {};
    unsigned count = 0, column = 0;
    Kind kind = block_before;  // without any, it follows the beginning
  };

  void add(unsigned step, unsigned block, unsigned steps) {
    Vertex vertex;
    const unsigned neighbour = block > 0 ? last_[block - 1] : kNone;
    for (unsigned before : {last_[block], neighbour}) {
      if (before != kNone) vertex.before[vertex.count++] = before;
    }
    if (last_[block] != kNone) vertex.kind = neighbour == kNone ? itself : both;
    vertex.column = block * steps + step;
    last_[block] = static_cast<unsigned>(vertices_.size());
    vertices_.push_back(vertex);
  }

  std::vector<unsigned> last_;  ///< by block: its vertex at the step before
  std::vector<Vertex> vertices_;
};

void check(const Dim& dim, std::span<const unsigned> labels) {
  if (dim.nd > 2 || dim.bd != 1 || dim.rows() < 2) {
    throw ShapeError("[ctc_loss] need scores {labels + 1, steps}; got " + to_string(dim));
  }
  unsigned steps = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= dim.rows() - 1) {
      throw UsageError("[ctc_loss] need labels below " + std::to_string(dim.rows() - 1) +
                       ", which is the blank; got " + detail::index_text(labels[i]));
    }
    steps += i > 0 && labels[i] == labels[i - 1] ? 2 : 1;
  }
  if (steps > dim.cols()) {
    throw UsageError("[ctc_loss] need at least " + std::to_string(steps) + " steps for " +
                     std::to_string(labels.size()) + " labels; got " + std::to_string(dim.cols()));
  }
}

}  // namespace

Expression ctc_loss(const Expression& scores, std::span<const unsigned> labels) {
  static const Recursion<Expression> along = recursion<Expression>(paths_after, "ctc_loss");
  const Dim dim = scores.dim();
  check(dim, labels);
  ComputationGraph& graph = *scores.pg;
  const unsigned classes = dim.rows(), steps = dim.cols();
  const Path path(labels, classes - 1);
  const Expression all = log_softmax(reshape(scores, Dim({classes}, steps)));
  std::vector<Expression> blocks;  // with an element of the minibatch for every step
  for (unsigned block = 0; block < path.blocks(); ++block) {
    const Expression ways = input(graph, {3 * kBlock}, path.ways(block));
    blocks.push_back(concatenate({select_rows(all, path.classes(block)), ways}));
  }
  const Expression columns =
      reshape(concatenate_to_batch(blocks), {4 * kBlock, path.blocks() * steps});
  const Expression start = input(graph, {kBlock}, {kBlock - 1}, {0}, kImpossible);
  const Lattice lattice(path, steps);
  const States<Expression> paths = along(lattice.structure(), columns, start);
  const auto in_state = [&](unsigned state) {
    return pick(paths[lattice.last(state / kBlock)], state % kBlock);
  };
  const unsigned last = path.states() - 1;
  // As many steps as labels leave no time for the last blank, which may begin a block.
  if (last == 0) return -in_state(0);
  if (!lattice.reaches(last / kBlock)) return -in_state(last - 1);
  return -logsumexp({in_state(last), in_state(last - 1)});
}

Expression ctc_loss(std::span<const Expression> scores, std::span<const unsigned> labels) {
  if (scores.empty()) throw UsageError("[ctc_loss] need at least 1 step; got 0");
  for (const Expression& each : scores) {
    if (const Dim dim = each.dim(); dim.size() != dim.rows()) {
      throw ShapeError("[ctc_loss] need a vector of scores per step; got " + to_string(dim));
    }
  }
  return ctc_loss(concatenate_cols(scores), labels);
}

}  // namespace dynet_like::nn
