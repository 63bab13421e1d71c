// Numbers of what a run meets, so that it costs what it meets and not what there is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dynet_like/exec/node_ref.h"

namespace dynet_like::detail {

/// Gives types dense numbers, in the order in which they are met. Keeps its memory.
class MetTypes {
 public:
  /// Forgets them; from now on types are below `count`. Takes time in proportion to those that were
  /// met.
  void begin(std::size_t count) {
    for (const std::uint32_t type : met_) number_of_[type] = kNone;
    met_.clear();
    number_of_.resize(count, kNone);
  }
  /// Its number, a new one if it has none.
  std::uint32_t number(std::size_t type) {
    if (number_of_[type] == kNone) {
      met_.push_back(static_cast<std::uint32_t>(type));
      number_of_[type] = static_cast<std::uint32_t>(met_.size() - 1);
    }
    return number_of_[type];
  }
  /// By number.
  const std::vector<std::uint32_t>& all() const { return met_; }

 private:
  std::vector<std::uint32_t> number_of_, met_;
};

}  // namespace dynet_like::detail
