// The order in which a minibatch of sequences is run.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dynet_like::bench::by_hand {

/// Sequences of a minibatch, the longest first. So the sequences that have a step are the first
/// ones of those that have the step before, and contiguous. Elements are numbered by step, then by
/// the place of their sequence.
class Steps {
 public:
  struct Element {
    std::size_t sequence;  ///< index in the minibatch as it was given
    std::size_t position;  ///< in its sequence
    std::size_t mirrored;  ///< the element of the same sequence with the same distance from its end
  };

  Steps() = default;
  explicit Steps(std::span<const std::size_t> lengths);

  /// Number of steps: the length of the longest sequence.
  std::size_t count() const { return begins_.size() - 1; }
  /// The first element of a step; for step count(), the number of all elements.
  std::size_t begin(std::size_t step) const { return begins_[step]; }
  /// How many sequences have the step; none from step count() on.
  std::size_t width(std::size_t step) const {
    return step < count() ? begins_[step + 1] - begins_[step] : 0;
  }
  const std::vector<Element>& elements() const { return elements_; }

 private:
  std::vector<std::size_t> begins_{0};
  std::vector<Element> elements_;
};

}  // namespace dynet_like::bench::by_hand
