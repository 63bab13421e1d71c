// ArcScores: checked scores of arcs, for the decoders of dependency trees.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/tensor.h"

namespace dynet_like::nn {

/// The n for which there are n (n + 1) scores. Throws UsageError if there is none.
inline unsigned words_of(const char* user, std::size_t scores) {
  std::size_t n = 0;
  while (n * (n + 1) < scores) ++n;
  if (n == 0 || n * (n + 1) != scores) {
    throw UsageError("[" + std::string(user) +
                     "] need n (n + 1) scores of arcs for n words, n at least 1; got " +
                     std::to_string(scores));
  }
  return static_cast<unsigned>(n);
}

/// The scores in a matrix {n + 1, n}. Throws ShapeError for another shape.
inline std::vector<double> scores_in(const char* user, const Tensor& matrix) {
  const Dim& dim = matrix.d;
  if (dim.nd <= 2 && dim.bd == 1 && dim.rows() == dim.cols() + 1) return as_doubles(matrix);
  throw ShapeError("[" + std::string(user) +
                   "] need scores of arcs from the root and n words to n words, {n + 1, n}; got " +
                   to_string(dim));
}

/// Scores of arcs that have been checked.
class ArcScores {
 public:
  /// Throws UsageError and NumericError; messages begin with `user`.
  ArcScores(const char* user, std::vector<double> scores)
      : words_(words_of(user, scores.size())), scores_(std::move(scores)) {
    for (unsigned word = 1; word <= words_; ++word) {
      for (unsigned head = 0; head <= words_; ++head) {
        const double score = (*this)(head, word);
        if (score < std::numeric_limits<double>::infinity()) continue;
        throw NumericError("[" + std::string(user) + "] need numbers below infinity; got " +
                           std::to_string(score) + " for the arc from " + std::to_string(head) +
                           " to " + std::to_string(word));
      }
    }
  }

  // Moving copies, so that it always has its numbers.
  ArcScores(const ArcScores&) = default;
  ArcScores& operator=(const ArcScores&) = default;

  unsigned words() const { return words_; }
  /// -infinity for pairs that are not arcs: to the root, or from a word to itself.
  double operator()(unsigned head, unsigned word) const {
    if (word == 0 || word == head) return -std::numeric_limits<double>::infinity();
    return scores_[head + std::size_t{words_ + 1} * (word - 1)];
  }

 private:
  unsigned words_;
  std::vector<double> scores_;
};

[[noreturn]] inline void throw_no_tree(const char* user) {
  throw UsageError("[" + std::string(user) +
                   "] need a tree without forbidden arcs; got scores of -infinity in every tree");
}

}  // namespace dynet_like::nn
