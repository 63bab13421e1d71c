// The largest element of a line, as ops along a dimension define it: the first of equal ones, and a
// NaN counts as larger than every number.
#pragma once

#include <cmath>
#include <limits>

#include "dynet_like/device/cuda/teams.h"

namespace dynet_like::detail::cuda {

template <class T>
__device__ bool is_larger(T a, T b) {
  return b < a || (std::isnan(a) && !std::isnan(b));
}

/// An element and its place in a line.
template <class T>
struct Element {
  T value;
  std::uint32_t place;
};

template <class T>
__device__ inline Element<T> from_partner(Element<T> element, unsigned bits) {
  return {from_partner(element.value, bits), from_partner(element.place, bits)};
}

/// Whether a comes before b if the largest come first.
template <class T>
__device__ bool precedes(const Element<T>& a, const Element<T>& b) {
  if (is_larger(a.value, b.value)) return true;
  return !is_larger(b.value, a.value) && a.place < b.place;
}

/// The largest of element(k), k < n, the first of several.
template <class T, unsigned size, class F>
__device__ Element<T> find_largest(const Team<size>& team, std::uint32_t n, const F& element) {
  const auto first = [](const Element<T>& a, const Element<T>& b) {
    return precedes(b, a) ? b : a;
  };
  Element<T> best{-std::numeric_limits<T>::infinity(), std::numeric_limits<std::uint32_t>::max()};
  team.each(n, [&](std::uint32_t k) { best = first(best, Element<T>{element(k), k}); });
  return team.combine(best, first);
}

}  // namespace dynet_like::detail::cuda
