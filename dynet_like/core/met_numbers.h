// Dense numbers for the things that a run meets, so that its cost depends on these alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dynet_like::detail {

/// Maps things (numbers below some count) to dense numbers, in the order in which they are met.
/// Keeps its memory.
class MetNumbers {
 public:
  /// Forgets all things; from now on they are below `count`. Takes time in proportion to their
  /// number.
  void begin(std::size_t count) {
    for (const std::uint32_t thing : met_) number_of_[thing] = kUnmet;
    met_.clear();
    number_of_.resize(count, kUnmet);
  }
  /// The dense number of a thing: a new one if it has none.
  std::uint32_t number(std::size_t thing) {
    if (number_of_[thing] == kUnmet) {
      met_.push_back(static_cast<std::uint32_t>(thing));
      number_of_[thing] = static_cast<std::uint32_t>(met_.size() - 1);
    }
    return number_of_[thing];
  }
  /// The things, by dense number.
  const std::vector<std::uint32_t>& all() const { return met_; }

 private:
  static constexpr std::uint32_t kUnmet = ~std::uint32_t{0};

  std::vector<std::uint32_t> number_of_, met_;
};

}  // namespace dynet_like::detail
