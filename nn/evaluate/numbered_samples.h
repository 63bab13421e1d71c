// NumberedSamples: samples by their numbers.
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <utility>

namespace dynet_like::nn {

/// The samples of a random-access range, which must outlive it; or of a count n, whose samples are
/// 0 to n - 1.
template <class Samples>
class NumberedSamples {
 public:
  explicit NumberedSamples(const Samples& samples) : samples_(samples) {}

  std::size_t size() const {
    if constexpr (std::integral<Samples>) {
      return static_cast<std::size_t>(samples_);
    } else {
      return std::size(samples_);
    }
  }
  decltype(auto) operator[](std::size_t i) const {
    if constexpr (std::integral<Samples>) {
      return std::size_t{i};
    } else {
      return *(std::begin(samples_) + static_cast<std::ptrdiff_t>(i));
    }
  }

 private:
  const Samples& samples_;
};

}  // namespace dynet_like::nn
