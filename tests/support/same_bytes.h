// Compares bytes: a NaN equals only the NaN with its bits, and 0 is not -0.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

namespace dynet_like {

template <class E>
bool same_bytes(std::span<const E> a, std::span<const E> b) {
  return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
}
template <class E>
bool same_bytes(const std::vector<E>& a, const std::vector<E>& b) {
  return same_bytes(std::span(a), std::span(b));
}

}  // namespace dynet_like
