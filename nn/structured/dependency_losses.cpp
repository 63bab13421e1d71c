// Losses of dependency trees: Eisner's items for all spans of a width at once; determinants.
#include "nn/structured/dependency_losses.h"

#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "nn/structured/span_chart.h"

namespace dynet_like::nn {

namespace {

/// The number of words.
unsigned check_scores(const char* user, const Expression& scores) {
  const Dim dim = scores.dim();
  if (dim.nd <= 2 && dim.bd == 1 && dim.rows() == dim.cols() + 1) return dim.cols();
  throw ShapeError("[" + std::string(user) +
                   "] need scores of arcs from the root and n words to n words, {n + 1, n}; got " +
                   to_string(dim));
}

/// Where the score of an arc lies in the matrix.
unsigned place_of(unsigned head, unsigned word, unsigned words) {
  return head + (words + 1) * (word - 1);
}

/// Scores in the order in which the inside algorithm reads them: all from one node, so that the
/// rest are views. Positions are the root and the words, or the words alone.
class ArcsByWidth {
 public:
  ArcsByWidth(const Expression& scores, unsigned words, unsigned first)
      : words_(words), positions_(words + 1 - first) {
    std::vector<unsigned> places;
    for (unsigned width = 1; width < positions_; ++width) {
      starts_.push_back(static_cast<unsigned>(places.size()));
      for (unsigned i = first; i + width <= words; ++i) {
        places.push_back(place_of(i, i + width, words));
      }
      for (unsigned i = first; i + width <= words; ++i) {
        // No arc leads to the root. What stands in its place is in no tree.
        places.push_back(i == 0 ? 0 : place_of(i + width, i, words));
      }
    }
    starts_.push_back(static_cast<unsigned>(places.size()));
    for (unsigned word = 1; word <= words; ++word) places.push_back(place_of(0, word, words));
    ordered_ = select_rows(reshape(scores, Dim({(words + 1) * words})), places);
  }

  /// Of the arcs from each position to that `width` to its right, and back: {1}, a minibatch
  /// element for each.
  Expression right(unsigned width) const { return arcs(starts_[width - 1], positions_ - width); }
  Expression left(unsigned width) const {
    return arcs(starts_[width - 1] + positions_ - width, positions_ - width);
  }
  /// Of those from the root: {n}.
  Expression of_root() const {
    return pick_range(ordered_, starts_.back(), starts_.back() + words_);
  }

 private:
  Expression arcs(unsigned start, unsigned count) const {
    return reshape(pick_range(ordered_, start, start + count), Dim({1}, count));
  }

  unsigned words_, positions_;
  std::vector<unsigned> starts_;  ///< of each width, then of the root
  Expression ordered_;
};

/// ln of sums of e^score over what can stand between two positions: a head and all that hangs on it
/// up to the other position (right: the head is the left one), or the same with a child there that
/// is still open on its far side.
struct EisnerSums {
  EisnerSums(const ArcsByWidth& arcs, unsigned positions, ComputationGraph& graph)
      : right(zeros(graph, Dim({1}, positions))), left(right) {
    std::vector<SpanChart> open_right, open_left;  // from width 1 on
    for (unsigned width = 1; width < positions; ++width) {
      const unsigned count = positions - width;
      const Expression joint = logsumexp_dim(right.by_start(count) + left.by_end(count), 0);
      grow(open_right, joint + arcs.right(width));
      grow(open_left, joint + arcs.left(width));
      widest = logsumexp_dim(open_right[0].by_start(count) + right.by_end(count), 0);
      const Expression wider_left =
          logsumexp_dim(left.by_start(count) + open_left[0].by_end(count), 0);
      right.add(widest);
      left.add(wider_left);
    }
  }

  SpanChart right, left;
  Expression widest;  ///< of the last `right`, from the first position to the last

 private:
  static void grow(std::vector<SpanChart>& chart, const Expression& wider) {
    chart.empty() ? void(chart.emplace_back(wider)) : chart[0].add(wider);
  }
};

Expression unit_matrix(ComputationGraph& graph, unsigned n) {
  std::vector<unsigned> diagonal;
  for (unsigned i = 0; i < n; ++i) diagonal.push_back(i * (n + 1));
  return input(graph, {n, n}, diagonal, std::vector<float>(n, 1));
}

}  // namespace

Expression tree_score(const Expression& scores, std::span<const unsigned> heads, Roots roots) {
  const unsigned words = check_scores("tree_score", scores);
  if (heads.size() != words || !is_tree(heads, roots)) {
    std::string all;
    for (const unsigned head : heads) all += " " + std::to_string(head);
    throw UsageError("[tree_score] need the heads of a tree of " + std::to_string(words) +
                     " words with " + (roots == Roots::one ? "one root" : "roots") + "; got" + all);
  }
  std::vector<Expression> terms;
  for (unsigned i = 0; i < words; ++i) terms.push_back(pick(pick(scores, i, 1), heads[i]));
  return sum(terms);
}

Expression projective_log_partition(const Expression& scores, Roots roots) {
  const unsigned words = check_scores("projective_log_partition", scores);
  ComputationGraph& graph = *scores.pg;
  if (roots == Roots::any) {
    return EisnerSums(ArcsByWidth(scores, words, 0), words + 1, graph).widest;
  }
  // One word hangs on the root, and on it all words to its left and right.
  const ArcsByWidth arcs(scores, words, 1);
  const EisnerSums sums(arcs, words, graph);
  return logsumexp_dim(sums.left.by_start(1) + sums.right.by_end(1) + arcs.of_root(), 0);
}

Expression projective_tree_loss(const Expression& scores, std::span<const unsigned> heads,
                                Roots roots) {
  if (is_tree(heads, roots) && !is_projective(heads, roots)) {
    throw UsageError("[projective_tree_loss] need a tree without crossing arcs; got one that has");
  }
  return projective_log_partition(scores, roots) - tree_score(scores, heads, roots);
}

Expression matrix_tree_log_partition(const Expression& scores, Roots roots) {
  const unsigned words = check_scores("matrix_tree_log_partition", scores);
  ComputationGraph& graph = *scores.pg;
  // The scores without those of words to themselves, and of each word relative to its best.
  const unsigned size = (words + 1) * words;
  std::vector<unsigned> places;
  for (unsigned word = 1; word <= words; ++word) {
    for (unsigned head = 0; head <= words; ++head) {
      places.push_back(head == word ? size : place_of(head, word, words));
    }
  }
  const Expression none = constant(graph, {1}, -1e30f);
  const Expression arcs =
      reshape(select_rows(concatenate({reshape(scores, Dim({size})), none}), places), scores.dim());
  const Expression best = nobackprop(reshape(max_dim(arcs, 0), {1, words}));
  const Expression weights = exp(arcs - best);
  const Expression of_root = pick_range(weights, 0, 1),
                   of_words = pick_range(weights, 1, words + 1);
  // What comes in on the diagonal, and the rest negated; with one root, its arcs are a row.
  const Expression in = sum_dim(roots == Roots::any ? weights : of_words, {0});
  Expression laplacian = cmult(unit_matrix(graph, words), reshape(in, {1, words})) - of_words;
  if (roots == Roots::one) {
    laplacian = words == 1 ? of_root : concatenate({of_root, pick_range(laplacian, 1, words)});
  }
  return logdet(laplacian) + sum_elems(best);
}

Expression matrix_tree_loss(const Expression& scores, std::span<const unsigned> heads,
                            Roots roots) {
  return matrix_tree_log_partition(scores, roots) - tree_score(scores, heads, roots);
}

}  // namespace dynet_like::nn
