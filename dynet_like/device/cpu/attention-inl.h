// Scores of queries and keys, and sums of rows by weights. Included once per target, after
// hwy/foreach_target.h; the include guard is per target.

#if defined(DYNET_LIKE_ATTENTION_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_LIKE_ATTENTION_INL
#undef DYNET_LIKE_ATTENTION_INL
#else
#define DYNET_LIKE_ATTENTION_INL
#endif

#include "dynet_like/device/cpu/math-inl.h"
#include "dynet_like/device/cpu/packing-inl.h"
#include "dynet_like/device/cpu/reduce-inl.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

// The sizes that the type gives, and functions for an item.
template <class E>
struct AttentionShape {
  explicit AttentionShape(const Signature& type)
      : heads(type.attributes[0]),
        key_rows(type.inputs[0].size()),
        value_rows(type.output_size),
        key_head(key_rows / heads),
        value_head(value_rows / heads),
        scale(static_cast<E>(1 / std::sqrt(static_cast<double>(key_head)))) {}

  std::size_t heads, key_rows, value_rows, key_head, value_head;
  E scale;
};
struct SeenKeys {
  template <class Call>
  SeenKeys(const Call& call, std::size_t item)
      : SeenKeys(call.integers + item * call.type->integers) {}
  explicit SeenKeys(const std::uint32_t* integers)
      : all(integers[0]), first(integers[1]), end(integers[2]) {}
  bool operator==(const SeenKeys&) const = default;

  std::size_t all, first, end;
};

// The end of the items from `begin` on that read the same keys and values and write one gradient.
template <class Call>
std::size_t end_of_readers(const Call& call, std::size_t begin, const Destination* dx) {
  const auto same = [&](std::size_t i) {
    for (int j = 1; j <= 2; ++j) {
      if (call.in[j].template at<void>(i) != call.in[j].template at<void>(begin)) return false;
      if (dx == nullptr || !dx[j].wanted()) continue;
      if (dx[j].items[i] != dx[j].items[begin]) return false;
    }
    return SeenKeys(call, i).all == SeenKeys(call, begin).all;
  };
  std::size_t end = begin + 1;
  while (end < call.n && same(end)) ++end;
  return end;
}

// The number of queries that run side by side: a single one would wait for its own sums.
constexpr int kAbreast = 4;

// Calls f(begin, count) for the queries from `begin` to `end` - 1, with kAbreast or 1 of them at a
// time; `count` is an integral constant. Queries that run side by side see the same keys.
template <class Call, class F>
HWY_INLINE void for_queries(const Call& call, std::size_t begin, std::size_t end, const F& f) {
  const auto see_the_same = [&](std::size_t i) {
    for (std::size_t k = i + 1; k < i + kAbreast; ++k) {
      if (SeenKeys(call, k) != SeenKeys(call, i)) return false;
    }
    return true;
  };
  while (begin < end) {
    if (begin + kAbreast <= end && see_the_same(begin)) {
      f(begin, std::integral_constant<int, kAbreast>());
      begin += kAbreast;
    } else {
      f(begin, std::integral_constant<int, 1>());
      ++begin;
    }
  }
}

// combine_rows for kVectors vectors of each row.
template <int kItems, int kVectors, class E, class Weights, class F>
HWY_INLINE void combine_vectors(const Weights& weights, std::size_t n, const E* rows,
                                std::size_t stride, std::size_t at, const F& f) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  Lanes<E> sums[kItems][kVectors];
  for (int i = 0; i < kItems; ++i) {
    for (int v = 0; v < kVectors; ++v) sums[i][v] = Lanes<E>(0.0);
  }
  for (std::size_t k = 0; k < n; ++k) {
    Lanes<E> row[kVectors];
    for (int v = 0; v < kVectors; ++v) row[v] = Lanes<E>::load(rows + k * stride + at + v * kLanes);
    for (int i = 0; i < kItems; ++i) {
      const Lanes<E> weight(static_cast<double>(weights(i)[k]));
      for (int v = 0; v < kVectors; ++v) sums[i][v] = fused(weight, row[v], sums[i][v]);
    }
  }
  for (int i = 0; i < kItems; ++i) {
    for (int v = 0; v < kVectors; ++v) f(i, at + v * kLanes, kLanes, sums[i][v]);
  }
}

// Calls f(i, at, count, sum) for the items i below kItems, where sum is the sum of weights(i)[k] *
// rows[k * stride + at...] over k from 0 to n - 1. Covers rows of `width` elements.
template <int kItems, class E, class Weights, class F>
HWY_INLINE void combine_rows(const Weights& weights, std::size_t n, const E* rows,
                             std::size_t stride, std::size_t width, const F& f) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  constexpr int kMost = kItems == 1 ? 4 : 2;
  std::size_t at = 0;
  for (; at + kMost * kLanes <= width; at += kMost * kLanes) {
    combine_vectors<kItems, kMost>(weights, n, rows, stride, at, f);
  }
  for (; at + kLanes <= width; at += kLanes) {
    combine_vectors<kItems, 1>(weights, n, rows, stride, at, f);
  }
  if (at == width) return;
  for (int i = 0; i < kItems; ++i) {
    Lanes<E> sum(0.0);
    for (std::size_t k = 0; k < n; ++k) {
      const Lanes<E> weight(static_cast<double>(weights(i)[k]));
      sum = fused(weight, load(rows + k * stride + at, width - at), sum);
    }
    f(i, at, width - at, sum);
  }
}

template <class E>
std::size_t padded(std::size_t n) {
  return (n + Lanes<E>::size - 1) / Lanes<E>::size * Lanes<E>::size;
}

// The scores of all keys for one head of kItems queries: one row of `stride` elements per query.
template <int kItems, class E, class Query>
HWY_INLINE void find_scores(const AttentionShape<E>& shape, const Query& query,
                            const E* transposed_keys, std::size_t stride, E* scores) {
  const Lanes<E> scale(static_cast<double>(shape.scale));
  combine_rows<kItems>(query, shape.key_head, transposed_keys, stride, stride,
                       [&](int i, std::size_t at, std::size_t count, Lanes<E> sum)
                           HWY_ATTR { store(sum * scale, scores + i * stride + at, count); });
}

// Turns the scores of n keys into e^(s - max) and returns their sum; `top` is set to the maximum.
template <class E>
HWY_INLINE Lanes<E> exponentiate(E* scores, std::size_t n, Lanes<E>& top) {
  const Row<E> row{n};
  top =
      row.template reduce<Maximum>([&]<class T>(std::size_t at, std::size_t count)
                                       DYNET_LIKE_BODY { return load_as<T>(scores + at, count); });
  return row.template reduce<Sum>([&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    const T term = exp_of_negative(load_as<T>(scores + at, count) - T(top));
    store(term, scores + at, count);
    return term;
  });
}

// The transpose of n columns, each row followed by zeros up to `stride`.
template <class E, class Call>
E* transposed(const Call& call, const E* columns, std::size_t rows, std::size_t n,
              std::size_t stride) {
  E* const to = call.workspace->template elements<E>(rows * stride);
  transpose_columns(columns, rows, n, stride, to);
  for (std::size_t r = 0; r < rows; ++r)
    std::fill(to + r * stride + n, to + (r + 1) * stride, E(0));
  return to;
}

// The keys of an item, transposed.
template <class E, class Call>
E* transposed_keys(const Call& call, const AttentionShape<E>& shape, std::size_t i, std::size_t n,
                   std::size_t stride) {
  return transposed(call, call.in[1].template at<E>(i), shape.key_rows, n, stride);
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
