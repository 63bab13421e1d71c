// The parts of a data set.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

/// Samples for training, for choosing the best model, and for testing.
template <class Sample>
struct Splits {
  std::vector<Sample> train = {}, dev = {}, test = {};
};

/// The first samples, which are `share` of all, and the rest, in their order: views of `samples`.
/// Throws UsageError unless the share is 0 to 1.
template <class Sample>
std::pair<std::span<const Sample>, std::span<const Sample>> split(
    const std::vector<Sample>& samples, double share) {
  if (!(share >= 0 && share <= 1)) {
    throw UsageError("[split] need a share of 0 to 1; got " + std::to_string(share));
  }
  const std::span<const Sample> all = samples;
  const auto first = static_cast<std::size_t>(share * static_cast<double>(all.size()) + 0.5);
  return {all.first(first), all.subspan(first)};
}

}  // namespace dynet_like::nn
