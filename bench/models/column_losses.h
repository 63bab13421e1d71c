// Losses for matrices of scores, with a column for every word or node.
#pragma once

#include <vector>

#include "dynet_like/dynet_like.h"

namespace dynet_like::bench {

/// The sum of the losses of all columns, each with its label.
inline Expression sum_of_losses(const Expression& scores, const std::vector<unsigned>& labels) {
  const Dim columns({scores.dim().rows()}, static_cast<unsigned>(labels.size()));
  return sum_batches(cross_entropy(reshape(scores, columns), labels));
}

}  // namespace dynet_like::bench
