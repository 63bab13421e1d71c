// The product of matrices with many scattered columns: packed panels, tiles in registers.
// Included once per target, like lanes-inl.h.
//
// Every output element is one chain of fused multiply-adds over the columns of all matrices, from
// the first to the last. So a column has the same bits alone and in any batch, packed or not.

#if defined(DYNET_LIKE_PRODUCT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_LIKE_PRODUCT_INL
#undef DYNET_LIKE_PRODUCT_INL
#else
#define DYNET_LIKE_PRODUCT_INL
#endif

#include <algorithm>

#include "dynet_like/device/cpu/packing-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

constexpr std::size_t kMostFactors = 16;

// Panels that every block of columns reads again should stay in the L2 cache.
constexpr std::size_t kPanelBytes = std::size_t{448} << 10;

/// One of the matrices {rows, k} whose products are summed. If packed, it consists of panels of
/// kPanelRows rows, each with its k columns one behind the other; the last panel is only as wide as
/// the vectors that it needs. If not packed, its columns lie one behind the other.
template <class E>
struct Factor {
  const E* matrix = nullptr;
  std::size_t k = 0;
  bool packed = false;
};

/// Up to `most` columns: their right sides for every factor, and their destinations.
template <class E, int most = kTileColumns>
struct ColumnBlock {
  int count = 0;
  const E* x[kMostFactors][most];
  bool starts = false;  ///< sums begin with `start`, not with zeros
  const E* start[most];
  const E* bias[most] = {};  ///< null: no bias
  E* out[most];
  bool add[most] = {};  ///< the finished result is added to the destination
};

template <class E>
struct Product {
  const Factor<E>* factors;
  std::size_t factor_count, rows;
  bool all_packed;
};

// Calls f(0), f(1), ..., f(n - 1) with constants, so that arrays indexed by them stay in registers.
template <int n, class F>
HWY_INLINE void unrolled(F&& f) {
  [&]<int... i>(std::integer_sequence<int, i...>) DYNET_LIKE_BODY {
    (f(std::integral_constant<int, i>()), ...);
  }
  (std::make_integer_sequence<int, n>());
}

// sums[v][c] += left(v) * right(c). The side with fewer vectors stays in registers.
template <int V, int C, class E, class Left, class Right>
HWY_INLINE void add_products(Lanes<E> (&sums)[V][C], const Left& left, const Right& right) {
  const auto add = [&](auto v, auto c, Lanes<E> a, Lanes<E> b)
                       DYNET_LIKE_BODY { sums[v][c] = fused(a, b, sums[v][c]); };
  if constexpr (C == 1) {
    const Lanes<E> b = right(0);
    unrolled<V>([&](auto v) DYNET_LIKE_BODY { add(v, 0, left(v), b); });
  } else if constexpr (C < V) {
    Lanes<E> b[C];
    unrolled<C>([&](auto c) DYNET_LIKE_BODY { b[c] = right(c).pinned(); });
    unrolled<V>([&](auto v) DYNET_LIKE_BODY {
      const Lanes<E> a = left(v).pinned();
      unrolled<C>([&](auto c) DYNET_LIKE_BODY { add(v, c, a, b[c]); });
    });
  } else {
    Lanes<E> a[V];
    unrolled<V>([&](auto v) DYNET_LIKE_BODY { a[v] = left(v).pinned(); });
    unrolled<C>([&](auto c) DYNET_LIKE_BODY {
      const Lanes<E> b = right(c).pinned();
      unrolled<V>([&](auto v) DYNET_LIKE_BODY { add(v, c, a[v], b); });
    });
  }
}

// The rows of P panels of V vectors, of which the last has `tail` rows. kMasked: only these may be
// read. Aligned, because the short loop for one column would be a few percent slower if it crossed
// a line of the instruction cache.
template <class E, int P, int V, int C, bool kMasked>
HWY_NOINLINE __attribute__((aligned(64))) void multiply_panel(const Product<E>& product,
                                                              std::size_t row, std::size_t tail,
                                                              const ColumnBlock<E>& block) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  const typename Lanes<E>::Tag d;
  Lanes<E> acc[P * V][C];
  unrolled<P * V>([&](auto v) DYNET_LIKE_BODY {
    unrolled<C>([&](auto c) DYNET_LIKE_BODY { acc[v][c] = Lanes<E>(0.0); });
  });
  if (block.starts) {
    unrolled<P * V>([&](auto v) DYNET_LIKE_BODY {
      const std::size_t at = row + v * kLanes, count = v == P * V - 1 ? tail : kLanes;
      unrolled<C>([&](auto c) DYNET_LIKE_BODY { acc[v][c] = load(block.start[c] + at, count); });
    });
  }
  for (std::size_t p = 0; p < product.factor_count; ++p) {
    const Factor<E>& factor = product.factors[p];
    const std::size_t stride = factor.packed ? V * kLanes : product.rows, k_count = factor.k;
    const E* HWY_RESTRICT w = factor.matrix + (factor.packed ? row * k_count : row);
    const std::size_t next_panel = V * kLanes * (factor.packed ? k_count : 1);
    const E* right[C];
    unrolled<C>([&](auto c) DYNET_LIKE_BODY { right[c] = block.x[p][c]; });
    for (std::size_t k = 0; k < k_count; ++k, w += stride) {
      const auto left = [&](auto v) DYNET_LIKE_BODY {
        const E* const from = w + v / V * next_panel + v % V * kLanes;
        const bool is_tail = kMasked && v == P * V - 1;
        return is_tail ? Lanes<E>::load(from, tail) : Lanes<E>::load(from);
      };
      add_products<P * V, C>(
          acc, left, [&](auto c) DYNET_LIKE_BODY { return Lanes<E>(hn::Set(d, right[c][k])); });
    }
  }
  unrolled<C>([&](auto c) DYNET_LIKE_BODY {
    E* out = block.out[c] + row;
    const E* bias = block.bias[c];
    const bool add = block.add[c];
    unrolled<P * V>([&](auto v) DYNET_LIKE_BODY {
      const std::size_t at = v * kLanes, count = v == P * V - 1 ? tail : kLanes;
      if (bias != nullptr) acc[v][c] = acc[v][c] + load(bias + row + at, count);
      put(acc[v][c], out + at, count, add);
    });
  });
}

// So many sums keep two units busy whose multiply-adds take four cycles. A panel with few columns
// has fewer, so several panels are multiplied at once.
constexpr int kBusySums = 8;

// Multiplies P panels at once while there are so many whole ones, from `row` on, which moves.
template <class E, int P, int C>
HWY_INLINE void multiply_whole_panels(const Product<E>& product, std::size_t& row, std::size_t end,
                                      const ColumnBlock<E>& block) {
  constexpr std::size_t kOthers = (P - 1) * kPanelRows<E>, kAll = P * kPanelRows<E>;
  while (row + kAll <= end && panel_width<E>(end - row - kOthers) == kPanelRows<E>) {
    multiply_panel<E, P, kPanelVectors, C, false>(product, row, Lanes<E>::size, block);
    row += kAll;
  }
  if constexpr (P >= 4) multiply_whole_panels<E, P / 2, C>(product, row, end, block);
}

template <class E, int C>
HWY_INLINE void multiply_panels(const Product<E>& product, std::size_t begin, std::size_t end,
                                const ColumnBlock<E>& block) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  constexpr int kAtOnce = (kBusySums - 1) / (kPanelVectors * C) + 1;
  std::size_t row = begin;
  if constexpr (kAtOnce > 1) multiply_whole_panels<E, kAtOnce, C>(product, row, end, block);
  for (std::size_t width; row < end; row += width) {
    width = panel_width<E>(end - row);
    const auto multiply = [&]<int V>() DYNET_LIKE_BODY {
      const std::size_t tail = HWY_MIN(end - row, width) - (V - 1) * kLanes;
      if (tail == kLanes || product.all_packed) {
        multiply_panel<E, 1, V, C, false>(product, row, tail, block);
      } else {
        multiply_panel<E, 1, V, C, true>(product, row, tail, block);
      }
    };
    if (width == kLanes) multiply.template operator()<1>();
    if (width == 2 * kLanes) multiply.template operator()<2>();
    if constexpr (kPanelVectors == 4) {
      if (width == 3 * kLanes) multiply.template operator()<3>();
      if (width == 4 * kLanes) multiply.template operator()<4>();
    }
  }
}

template <class E>
void multiply_block(const Product<E>& product, std::size_t begin, std::size_t end,
                    const ColumnBlock<E>& block) {
  switch (block.count) {
    case 1:
      return multiply_panels<E, 1>(product, begin, end, block);
    case 2:
      return multiply_panels<E, 2>(product, begin, end, block);
    case 3:
      return multiply_panels<E, 3>(product, begin, end, block);
    case 4:
      return multiply_panels<E, 4>(product, begin, end, block);
    case 5:
      return multiply_panels<E, 5>(product, begin, end, block);
    default:
      return multiply_panels<E, 6>(product, begin, end, block);
  }
}

// If all rows fill at most half a vector, columns lie along the lanes instead.
template <class E>
constexpr int kFewRows = static_cast<int>(Lanes<E>::size / 2);
template <class E>
using LaneBlock = ColumnBlock<E, static_cast<int>(Lanes<E>::size)>;

// Computes all R rows.
template <class E, int R>
HWY_NOINLINE void multiply_rows(const Product<E>& product, const LaneBlock<E>& block) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  const typename Lanes<E>::Tag d;
  Lanes<E> acc[R];
  unrolled<R>([&](auto r) DYNET_LIKE_BODY { acc[r] = Lanes<E>(0.0); });
  alignas(64) E results[R][kLanes] = {};
  if (block.starts) {
    for (int c = 0; c < block.count; ++c) {
      for (int r = 0; r < R; ++r) results[r][c] = block.start[c][r];
    }
    unrolled<R>([&](auto r) DYNET_LIKE_BODY { acc[r] = Lanes<E>::load(results[r]); });
  }
  for (std::size_t p = 0; p < product.factor_count; ++p) {
    const Factor<E>& factor = product.factors[p];
    const E* w = factor.matrix;
    const std::size_t stride = factor.packed ? kLanes : R;
    for_elements(block.x[p], factor.k, [&](Lanes<E> right) DYNET_LIKE_BODY {
      unrolled<R>([&](auto r) DYNET_LIKE_BODY {
        acc[r] = fused(Lanes<E>(hn::Set(d, w[r])), right, acc[r]);
      });
      w += stride;
    });
  }
  unrolled<R>([&](auto r) DYNET_LIKE_BODY { acc[r].store(results[r]); });
  for (int c = 0; c < block.count; ++c) {
    for (int r = 0; r < R; ++r) {
      const E result = results[r][c];
      put(block.bias[c] == nullptr ? result : result + block.bias[c][r], block.out[c] + r,
          block.add[c]);
    }
  }
}

// Multiplies as many of n columns as fill the lanes well; returns how many.
template <class E, class Describe>
HWY_INLINE std::size_t multiply_few_rows(const Product<E>& product, std::size_t n,
                                         const Describe& describe) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  LaneBlock<E> block;
  std::size_t done = 0;
  for (; n - done > kLanes / 2; done += block.count) {
    block.count = static_cast<int>(HWY_MIN(n - done, kLanes));
    describe(block, done);
    for (std::size_t p = 0; p < product.factor_count; ++p) {  // lanes without a column
      for (std::size_t c = block.count; c < kLanes; ++c) block.x[p][c] = block.x[p][0];
    }
    unrolled<kFewRows<E>>([&](auto r) DYNET_LIKE_BODY {
      if (product.rows == r + 1) multiply_rows<E, r + 1>(product, block);
    });
  }
  return done;
}

/// The product with columns [0, n). describe(block, first) fills in block.count columns from
/// `first` on. Columns are split evenly into blocks, and panels into groups that stay in the cache.
template <class E, class Describe>
HWY_INLINE void multiply(const Product<E>& product, std::size_t n, const Describe& describe) {
  const std::size_t done =
      product.rows <= kFewRows<E> ? multiply_few_rows(product, n, describe) : 0;
  if (done == n) return;
  std::size_t k_count = 0;
  for (std::size_t p = 0; p < product.factor_count; ++p) k_count += product.factors[p].k;
  const std::size_t panels = kPanelBytes / (kPanelRows<E> * k_count * sizeof(E));
  const std::size_t group = HWY_MAX(panels, std::size_t{1}) * kPanelRows<E>;
  const std::size_t blocks = (n - done + kTileColumns - 1) / kTileColumns;
  ColumnBlock<E> block;
  for (std::size_t row = 0, end; row < product.rows; row = end) {
    end = row + group;
    if (end + Lanes<E>::size >= product.rows) end = product.rows;  // see panel_width
    std::size_t first = done;
    for (std::size_t b = 1; b <= blocks; ++b, first += block.count) {
      block.count = static_cast<int>(done + (n - done) * b / blocks - first);
      describe(block, first);
      multiply_block(product, row, end, block);
    }
  }
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
