// The loss of connectionist temporal classification, in blocks of states that all sequences share.
#include <algorithm>
#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/graph/computation_graph.h"
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
class States {
 public:
  States(std::span<const unsigned> labels, unsigned blank) : labels_(labels), blank_(blank) {}

  unsigned count() const { return 2 * static_cast<unsigned>(labels_.size()) + 1; }
  unsigned blocks() const { return (count() + kBlock - 1) / kBlock; }

  std::vector<unsigned> classes(unsigned block) const {
    std::vector<unsigned> classes;
    for (unsigned i = 0; i < kBlock; ++i) classes.push_back(class_of(block * kBlock + i));
    return classes;
  }
  /// 0 where a path may come from two states before, else kImpossible.
  std::vector<float> skips(unsigned block) const {
    std::vector<float> skips;
    for (unsigned state = block * kBlock; state < (block + 1) * kBlock; ++state) {
      const bool skips_blank =
          state % 2 == 1 && state > 1 && state < count() && class_of(state) != class_of(state - 2);
      skips.push_back(skips_blank ? 0 : kImpossible);
    }
    return skips;
  }

 private:
  /// States behind the last one are blanks, too. No path comes back from them.
  unsigned class_of(unsigned state) const {
    return state % 2 == 1 && state < count() ? labels_[state / 2] : blank_;
  }

  std::span<const unsigned> labels_;
  unsigned blank_;
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
  const Dim dim = scores.dim();
  check(dim, labels);
  ComputationGraph& graph = *scores.pg;
  const unsigned classes = dim.rows(), steps = dim.cols();
  const States states(labels, classes - 1);
  const Expression all = log_softmax(reshape(scores, Dim({classes}, steps)));
  std::vector<Expression> emitted, skips;  // by block
  for (unsigned block = 0; block < states.blocks(); ++block) {
    emitted.push_back(select_rows(all, states.classes(block)));
    skips.push_back(input(graph, {kBlock}, states.skips(block)));
  }
  const Expression never = constant(graph, {kBlock}, kImpossible);
  const Expression at_first = input(graph, {kBlock}, {0, 1}, {0, 0}, kImpossible);
  // For every state, ln of the probability of all paths that are in it now.
  std::vector<Expression> paths(states.blocks(), never);
  paths[0] = pick_batch_elem(emitted[0], 0) + at_first;
  for (unsigned step = 1; step < steps; ++step) {
    // From the last block on: each needs the one before as it was.
    for (unsigned block = states.blocks(); block-- > 0;) {
      // What paths have not come to yet, or from where none can come to the end, stays as it is.
      const unsigned end = (block + 1) * kBlock;
      if (block * kBlock > 2 * step + 1 || end + 2 * (steps - step) <= states.count()) continue;
      const Expression before =
          pick_range(block > 0 ? paths[block - 1] : never, kBlock - 2, kBlock);
      const Expression here = concatenate({before, paths[block]});
      const Expression from_last = pick_range(here, 1, kBlock + 1);
      const Expression from_last_but_one = pick_range(here, 0, kBlock) + skips[block];
      paths[block] = logsumexp({paths[block], from_last, from_last_but_one}) +
                     pick_batch_elem(emitted[block], step);
    }
  }
  const auto in_state = [&](unsigned state) { return pick(paths[state / kBlock], state % kBlock); };
  const unsigned last = states.count() - 1;
  if (last == 0) return -in_state(0);
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
