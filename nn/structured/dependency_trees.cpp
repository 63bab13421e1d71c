// Labels of the arcs of dependency trees.
#include "nn/structured/dependency_trees.h"

#include <algorithm>
#include <cmath>

#include "dynet_like/core/counted.h"
#include "nn/structured/arc_scores.h"

namespace dynet_like::nn {

namespace {

std::vector<unsigned> labels_of(const std::vector<double>& scores,
                                std::span<const unsigned> heads) {
  const std::size_t n = heads.size(), arcs = n * (n + 1);
  if (n == 0 || scores.empty() || scores.size() % arcs != 0) {
    throw UsageError("[best_labels] need as many scores for each arc between " +
                     detail::counted(n, "word") + ", at least 1; got " +
                     std::to_string(scores.size()));
  }
  const std::size_t labels = scores.size() / arcs;
  std::vector<unsigned> best;
  for (std::size_t word = 0; word < n; ++word) {
    if (heads[word] > n) {
      throw UsageError("[best_labels] need heads up to " + std::to_string(n) + "; got " +
                       std::to_string(heads[word]));
    }
    const auto first = scores.begin() + static_cast<long>(labels * (heads[word] + (n + 1) * word));
    const auto last = first + static_cast<long>(labels);
    if (std::any_of(first, last, [](double score) { return std::isnan(score); })) {
      throw NumericError("[best_labels] need numbers; got nan for the arc from " +
                         std::to_string(heads[word]) + " to " + std::to_string(word + 1));
    }
    best.push_back(static_cast<unsigned>(std::max_element(first, last) - first));
  }
  return best;
}

}  // namespace

std::vector<unsigned> best_labels(std::span<const float> scores, std::span<const unsigned> heads) {
  return labels_of({scores.begin(), scores.end()}, heads);
}
std::vector<unsigned> best_labels(const Tensor& scores, std::span<const unsigned> heads) {
  const Dim& dim = scores.d;
  if (dim.nd > 3 || dim.bd != 1 || dim[2] != heads.size() || dim[1] != heads.size() + 1) {
    throw ShapeError("[best_labels] need scores {labels, n + 1, n} for n = " +
                     detail::counted(heads.size(), "word") + "; got " + to_string(dim));
  }
  return labels_of(as_doubles(scores), heads);
}

}  // namespace dynet_like::nn
