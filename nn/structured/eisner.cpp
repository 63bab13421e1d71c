// The best projective tree: Eisner's chart of half constituents, which meet at their heads.
#include <algorithm>
#include <limits>

#include "nn/structured/arc_scores.h"
#include "nn/structured/best.h"
#include "nn/structured/dependency_trees.h"

namespace dynet_like::nn {

namespace {

constexpr double kNoTree = -std::numeric_limits<double>::infinity();

/// Best scores of spans from a head to a last word, on either side.
class EisnerChart {
 public:
  /// Over the words from `first` on. If `first` is 0, the root is treated as a word.
  EisnerChart(const ArcScores& scores, unsigned first)
      : scores_(scores),
        size_(scores.words() + 1),
        whole_(size_ * size_),
        linked_(size_ * size_),
        joints_(size_ * size_) {
    for (unsigned word = first; word < size_; ++word) whole_[place(word, word)].score = 0;
    for (unsigned width = 1; first + width < size_; ++width) {
      for (unsigned i = first; i + width < size_; ++i) fill(i, i + width);
    }
  }

  /// The best score of a head with descendants up to a last word.
  double whole(unsigned head, unsigned last) const { return whole_[place(head, last)].score; }

  /// Writes the heads of the best such span.
  void read_whole(unsigned head, unsigned last, std::vector<unsigned>& heads) const {
    while (head != last) {
      const unsigned child = whole_[place(head, last)].at;
      heads[child - 1] = head;
      const unsigned low = std::min(head, child), joint = joints_[place(low, head + child - low)];
      read_whole(low, joint, heads);
      read_whole(head + child - low, joint + 1, heads);
      head = child;
    }
  }

 private:
  std::size_t place(unsigned head, unsigned last) const { return head * size_ + last; }

  void fill(unsigned i, unsigned j) {
    Best joint;
    for (unsigned k = i; k < j; ++k) joint.offer(whole(i, k) + whole(j, k + 1), k);
    joints_[place(i, j)] = joint.at;
    linked_[place(i, j)] = joint.score + scores_(i, j);
    linked_[place(j, i)] = joint.score + scores_(j, i);
    Best right, left;
    for (unsigned k = i + 1; k <= j; ++k) right.offer(linked_[place(i, k)] + whole(k, j), k);
    for (unsigned k = i; k < j; ++k) left.offer(linked_[place(j, k)] + whole(k, i), k);
    whole_[place(i, j)] = right;
    whole_[place(j, i)] = left;
  }

  const ArcScores& scores_;
  std::size_t size_;
  std::vector<Best> whole_;       ///< `at`: the child farthest from the head
  std::vector<double> linked_;    ///< the same up to a child, without its far side
  std::vector<unsigned> joints_;  ///< where the two halves of such a span meet
};

std::vector<unsigned> best_projective(const ArcScores& scores, Roots roots) {
  const unsigned n = scores.words();
  std::vector<unsigned> heads(n);
  const EisnerChart chart(scores, roots == Roots::one ? 1 : 0);
  if (roots == Roots::any) {
    if (chart.whole(0, n) == kNoTree) throw_no_tree("eisner");
    chart.read_whole(0, n, heads);
    return heads;
  }
  Best child;
  for (unsigned word = 1; word <= n; ++word) {
    child.offer(scores(0, word) + chart.whole(word, 1) + chart.whole(word, n), word);
  }
  if (child.score == kNoTree) throw_no_tree("eisner");
  heads[child.at - 1] = 0;
  chart.read_whole(child.at, 1, heads);
  chart.read_whole(child.at, n, heads);
  return heads;
}

}  // namespace

std::vector<unsigned> eisner(std::span<const float> scores, Roots roots) {
  return best_projective({"eisner", {scores.begin(), scores.end()}}, roots);
}
std::vector<unsigned> eisner(const Tensor& scores, Roots roots) {
  return best_projective({"eisner", scores_in("eisner", scores)}, roots);
}

}  // namespace dynet_like::nn
