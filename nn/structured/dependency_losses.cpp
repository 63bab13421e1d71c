// Losses of dependency trees: Eisner's items, for all spans of one width at once; determinants.
#include "nn/structured/dependency_losses.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "nn/structured/span_chart.h"

namespace dynet_like::nn {

namespace {

/// Returns the number of words.
unsigned check_scores(const char* user, const Expression& scores) {
  const Dim dim = scores.dim();
  if (dim.nd <= 2 && dim.bd == 1 && dim.rows() == dim.cols() + 1) return dim.cols();
  throw ShapeError("[" + std::string(user) +
                   "] need scores of arcs from the root and n words to n words, {n + 1, n}; got " +
                   to_string(dim));
}

/// Scores of the arcs between positions: the root and the words, or the words alone. Arcs of one
/// width are a diagonal of the matrix, elements n + 2 apart. So they are views: one element of each
/// of several vectors of n + 2. No node has the number of words in its type.
class ArcsByWidth {
 public:
  ArcsByWidth(const Expression& scores, unsigned words, Roots roots)
      : words_(words), first_(roots == Roots::one ? 1 : 0) {
    numbers_ = reshape(scores, Dim({(words + 1) * words}));
    if (roots == Roots::one) return;
    // A column of arcs to the root, which no tree has.
    const Expression to_root = reshape(zeros(*scores.pg, Dim({1}, words + 1)), {words + 1});
    numbers_ = concatenate({to_root, numbers_});
  }

  unsigned positions() const { return words_ + 1 - first_; }
  /// The scores of arcs from each position to the one `width` to its right, and back: {1}, with a
  /// minibatch element for each.
  Expression right(unsigned width) const { return diagonal(width * (words_ + 1), width); }
  Expression left(unsigned width) const { return diagonal(width, width); }

 private:
  /// The diagonal that begins `behind` elements after the arc from the first position to itself.
  Expression diagonal(unsigned behind, unsigned width) const {
    const unsigned count = positions() - width, apart = words_ + 2, start = first_ + behind;
    const unsigned before = std::min(start, apart - 1), begin = start - before;
    const Expression around = pick_range(numbers_, begin, begin + count * apart);
    return pick_range(reshape(around, Dim({apart}, count)), before, before + 1);
  }

  unsigned words_, first_;
  Expression numbers_;
};

/// ln of sums of e^score over the spans between two positions. `right`: the left position is a
/// head, and the span has all its descendants up to the other position; `left` mirrors it. The open
/// ones are the same with a child at the other position, whose far side is not complete.
struct EisnerSums {
  EisnerSums(ComputationGraph& graph, const ArcsByWidth& arcs) {
    const unsigned positions = arcs.positions();
    const Expression alone = zeros(graph, Dim({1}, positions));
    right.add(alone);
    left.add(alone);
    SpanChart open_right, open_left;  // for widths from 1 on
    for (unsigned width = 1; width < positions; ++width) {
      const unsigned count = positions - width;
      const Expression joint = logsumexp_dim(right.by_start(count) + left.by_end(count), 0);
      open_right.add(joint + arcs.right(width));
      open_left.add(joint + arcs.left(width));
      widest = logsumexp_dim(open_right.by_start(count) + right.by_end(count), 0);
      const Expression wider_left =
          logsumexp_dim(left.by_start(count) + open_left.by_end(count), 0);
      right.add(widest);
      left.add(wider_left);
    }
  }

  SpanChart right, left;
  Expression widest;  ///< the last `right`, from the first position to the last
};

/// Scores of the sentence, padded with words that can only have its first word as head, with score
/// 0: so the sum over trees stays the same. There are few sizes, so sentences share batches. An arc
/// from a word to itself has the lowest finite score: so a column of forbidden arcs has a finite
/// maximum. The Laplacian cancels it.
Expression filled_up(const Expression& scores, unsigned words) {
  constexpr unsigned kStep = 8;
  const unsigned filled = (words + kStep - 1) / kStep * kStep, size = (words + 1) * words;
  const unsigned itself = size, for_nothing = size + 1, never = size + 2;
  std::vector<unsigned> places;
  for (unsigned word = 1; word <= filled; ++word) {
    for (unsigned head = 0; head <= filled; ++head) {
      const bool is_arc = word <= words && head <= words;
      const bool fills_up = word > words && head == 1;
      places.push_back(head == word ? itself
                       : is_arc     ? head + (words + 1) * (word - 1)
                       : fills_up   ? for_nothing
                                    : never);
    }
  }
  using Limits = std::numeric_limits<float>;
  const std::vector<float> numbers = {Limits::lowest(), 0, -Limits::infinity()};
  const Expression others = input(*scores.pg, {3}, numbers);
  const Expression all = concatenate({reshape(scores, Dim({size})), others});
  return reshape(select_rows(all, places), Dim({filled + 1, filled}));
}

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
    throw UsageError("[tree_score] need the heads of a tree of " + detail::counted(words, "word") +
                     " with " + (roots == Roots::one ? "one root" : "roots") + "; got" + all);
  }
  std::vector<Expression> terms;
  for (unsigned i = 0; i < words; ++i) terms.push_back(pick(pick(scores, i, 1), heads[i]));
  return sum(terms);
}

Expression projective_log_partition(const Expression& scores, Roots roots) {
  const unsigned words = check_scores("projective_log_partition", scores);
  ComputationGraph& graph = *scores.pg;
  const EisnerSums sums(graph, ArcsByWidth(scores, words, roots));
  if (roots == Roots::any) return sums.widest;
  // One word has the root as head, and all words to its left and right are its descendants. With
  // words as minibatch elements, sums have one type for any number of words.
  const Dim elements({1}, words);
  const Expression from_root = pick_range(reshape(scores, Dim({words + 1}, words)), 0, 1);
  const Expression all = sum({reshape(sums.left.by_start(1), elements),
                              reshape(sums.right.by_end(1), elements), from_root});
  return logsumexp_dim(reshape(all, Dim({words})), 0);
}

Expression projective_tree_loss(const Expression& scores, std::span<const unsigned> heads,
                                Roots roots) {
  if (is_tree(heads, roots) && !is_projective(heads)) {
    throw UsageError("[projective_tree_loss] need a tree without crossing arcs; got one that has");
  }
  return projective_log_partition(scores, roots) - tree_score(scores, heads, roots);
}

Expression matrix_tree_log_partition(const Expression& scores, Roots roots) {
  const unsigned words = check_scores("matrix_tree_log_partition", scores);
  ComputationGraph& graph = *scores.pg;
  const Expression arcs = filled_up(scores, words);
  const unsigned n = arcs.dim().cols();
  // Relative to the best arc of each word, so that weights do not overflow.
  const Expression best = nobackprop(reshape(max_dim(arcs, 0), {1, n}));
  const Expression weights = exp(arcs - best);
  const Expression of_root = pick_range(weights, 0, 1), of_words = pick_range(weights, 1, n + 1);
  // The Laplacian: sums of incoming weights on the diagonal, negated weights elsewhere; the root's
  // arcs are its first row. With Roots::any this row is the sum of all rows, so the determinant
  // stays the same, and is exactly 0 if no word can have the root as head.
  const Expression in = sum_dim(roots == Roots::any ? weights : of_words, {0});
  const Expression laplacian = cmult(unit_matrix(graph, n), reshape(in, {1, n})) - of_words;
  return logdet(concatenate({of_root, pick_range(laplacian, 1, n)})) + sum_elems(best);
}

Expression matrix_tree_loss(const Expression& scores, std::span<const unsigned> heads,
                            Roots roots) {
  return matrix_tree_log_partition(scores, roots) - tree_score(scores, heads, roots);
}

}  // namespace dynet_like::nn
