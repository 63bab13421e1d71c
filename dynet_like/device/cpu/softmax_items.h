// Items that are elements of one softmax are consecutive, and it is computed once for them.
#pragma once

#include <algorithm>

#include "dynet_like/device/open_destinations.h"

namespace dynet_like::detail::cpu {

/// The integers of an item: the number of columns, those of the softmax, and the item's own column.
struct SoftmaxItem {
  SoftmaxItem(const std::uint32_t* integers, std::size_t i)
      : all(integers[4 * i]),
        begin(integers[4 * i + 1]),
        end(integers[4 * i + 2]),
        own(integers[4 * i + 3]) {}
  std::size_t size() const { return end - begin; }
  std::size_t all, begin, end, own;
};

/// The end of the items from i on that belong to one softmax, and backward write one gradient.
template <class Call>
std::size_t end_of_softmax(const Call& call, std::size_t i) {
  const auto same = [&](std::size_t k) {
    for (unsigned j = 0; j < call.type->inputs.size(); ++j) {
      if (call.in[j].template at<void>(k) != call.in[j].template at<void>(i)) return false;
      if constexpr (requires { call.dx; }) {
        const bool is_one = call.type->op->is_open(j) && call.dx[j].wanted();
        if (is_one && call.dx[j].items[k] != call.dx[j].items[i]) return false;
      }
    }
    const std::uint32_t *a = call.integers + 4 * i, *b = call.integers + 4 * k;
    return std::equal(a, a + 3, b);
  };
  std::size_t end = i + 1;
  while (end < call.n && same(end)) ++end;
  return end;
}

}  // namespace dynet_like::detail::cpu
