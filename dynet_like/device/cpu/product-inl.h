// The product of matrices with many columns that lie anywhere: packed panels, tiles in registers.
// Included once per target, like lanes-inl.h.
//
// Every output element is one chain of fused multiply-adds over the columns of all matrices, from
// the first to the last, whatever it is computed with: a column has the same bits alone and in any
// batch, and from packed weights as from others.

#if defined(DYNET_LIKE_PRODUCT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_LIKE_PRODUCT_INL
#undef DYNET_LIKE_PRODUCT_INL
#else
#define DYNET_LIKE_PRODUCT_INL
#endif

#include <algorithm>

#include "dynet_like/device/cpu/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::HWY_NAMESPACE {

// A tile is kPanelVectors vectors of rows times kTileColumns columns: as many accumulators as the
// registers hold, beside the vectors of a panel and one broadcast element.
#if HWY_MAX_BYTES >= 64 || HWY_ARCH_ARM_A64
constexpr int kPanelVectors = 4;
#else
constexpr int kPanelVectors = 2;
#endif
constexpr int kTileColumns = 6;
constexpr std::size_t kMostFactors = 16;

// Panels that are read again for every block of columns should stay in the second-level cache.
constexpr std::size_t kPanelBytes = std::size_t{448} << 10;

template <class E>
constexpr std::size_t kPanelRows = kPanelVectors* Lanes<E>::size;

/// Rows of a packed matrix: whole vectors, the last of them filled with zeros.
template <class E>
constexpr std::size_t padded_rows(std::size_t rows) {
  return (rows + Lanes<E>::size - 1) / Lanes<E>::size * Lanes<E>::size;
}

/// A matrix {rows, k}, one of those whose products are added up. Packed, it is panels of kPanelRows
/// rows, each with its k columns one behind the other; the last panel is as wide as the vectors
/// that it needs. Otherwise its columns lie one behind the other.
template <class E>
struct Factor {
  const E* matrix = nullptr;
  std::size_t k = 0;
  bool packed = false;
};

/// Up to kTileColumns columns: for every factor its right sides, and where results go.
template <class E>
struct ColumnBlock {
  int count = 0;
  const E* x[kMostFactors][kTileColumns];
  const E* bias[kTileColumns] = {};  ///< null: none
  E* out[kTileColumns];
  bool add[kTileColumns] = {};  ///< the finished result is added to what is there
};

template <class E>
struct Product {
  const Factor<E>* factors;
  std::size_t factor_count, rows;
  bool all_packed;
};

// f(0), f(1), ..., f(n - 1), with constants: accumulators that are named by them stay in registers.
template <int n, class F>
HWY_INLINE void unrolled(F&& f) {
  [&]<int... i>(std::integer_sequence<int, i...>) DYNET_LIKE_BODY {
    (f(std::integral_constant<int, i>()), ...);
  }
  (std::make_integer_sequence<int, n>());
}

// The rows of one panel, V vectors, the last of them with `tail` rows. kMasked: no more than those
// are there to be read.
template <class E, int V, int C, bool kMasked>
HWY_NOINLINE void multiply_panel(const Product<E>& product, std::size_t row, std::size_t tail,
                                 const ColumnBlock<E>& block) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  const typename Lanes<E>::Tag d;
  Lanes<E> acc[V][C];
  unrolled<V>([&](auto v) DYNET_LIKE_BODY {
    unrolled<C>([&](auto c) DYNET_LIKE_BODY { acc[v][c] = Lanes<E>(0.0); });
  });
  for (std::size_t p = 0; p < product.factor_count; ++p) {
    const Factor<E>& factor = product.factors[p];
    const std::size_t stride = factor.packed ? V * kLanes : product.rows, k_count = factor.k;
    const E* HWY_RESTRICT w = factor.matrix + (factor.packed ? row * k_count : row);
    const E* right[C];
    unrolled<C>([&](auto c) DYNET_LIKE_BODY { right[c] = block.x[p][c]; });
    for (std::size_t k = 0; k < k_count; ++k, w += stride) {
      Lanes<E> left[V];
      unrolled<V>([&](auto v) DYNET_LIKE_BODY {
        const bool is_tail = kMasked && v == V - 1;
        left[v] = is_tail ? Lanes<E>::load(w + v * kLanes, tail) : Lanes<E>::load(w + v * kLanes);
      });
      unrolled<C>([&](auto c) DYNET_LIKE_BODY {
        const Lanes<E> number(hn::Set(d, right[c][k]));
        unrolled<V>([&](auto v) DYNET_LIKE_BODY { acc[v][c] = fused(left[v], number, acc[v][c]); });
      });
    }
  }
  unrolled<C>([&](auto c) DYNET_LIKE_BODY {
    E* out = block.out[c] + row;
    const E* bias = block.bias[c];
    const bool add = block.add[c];
    unrolled<V>([&](auto v) DYNET_LIKE_BODY {
      const std::size_t at = v * kLanes, count = v == V - 1 ? tail : kLanes;
      if (bias != nullptr) acc[v][c] = acc[v][c] + load(bias + row + at, count);
      put(acc[v][c], out + at, count, add);
    });
  });
}

template <class E, int V, int C>
HWY_INLINE void multiply_last_panel(const Product<E>& product, std::size_t row, std::size_t tail,
                                    const ColumnBlock<E>& block) {
  if (tail == Lanes<E>::size || product.all_packed) {
    multiply_panel<E, V, C, false>(product, row, tail, block);
  } else {
    multiply_panel<E, V, C, true>(product, row, tail, block);
  }
}

template <class E, int C>
HWY_INLINE void multiply_panels(const Product<E>& product, std::size_t begin, std::size_t end,
                                const ColumnBlock<E>& block) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  std::size_t row = begin;
  for (; row + kPanelRows<E> <= end; row += kPanelRows<E>) {
    multiply_panel<E, kPanelVectors, C, false>(product, row, kLanes, block);
  }
  if (row == end) return;
  const std::size_t vectors = (end - row + kLanes - 1) / kLanes;
  const std::size_t tail = end - row - (vectors - 1) * kLanes;
  if (vectors == 1) multiply_last_panel<E, 1, C>(product, row, tail, block);
  if (vectors == 2) multiply_last_panel<E, 2, C>(product, row, tail, block);
  if constexpr (kPanelVectors == 4) {
    if (vectors == 3) multiply_last_panel<E, 3, C>(product, row, tail, block);
    if (vectors == 4) multiply_last_panel<E, 4, C>(product, row, tail, block);
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

/// The product with columns [0, n). describe(block, first) fills in block.count columns from
/// `first` on. Columns are split evenly into blocks, panels into groups that stay in the cache.
template <class E, class Describe>
HWY_INLINE void multiply(const Product<E>& product, std::size_t n, const Describe& describe) {
  if (n == 0) return;
  std::size_t k_count = 0;
  for (std::size_t p = 0; p < product.factor_count; ++p) k_count += product.factors[p].k;
  const std::size_t panels = kPanelBytes / (kPanelRows<E> * k_count * sizeof(E));
  const std::size_t group = HWY_MAX(panels, std::size_t{1}) * kPanelRows<E>;
  const std::size_t blocks = (n + kTileColumns - 1) / kTileColumns;
  ColumnBlock<E> block;
  for (std::size_t row = 0; row < product.rows; row += group) {
    const std::size_t end = HWY_MIN(product.rows, row + group);
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t first = n * b / blocks;
      block.count = static_cast<int>(n * (b + 1) / blocks - first);
      describe(block, first);
      multiply_block(product, row, end, block);
    }
  }
}

/// Packs a matrix {rows, k} whose columns are `stride` elements apart.
template <class E>
HWY_INLINE void pack(const E* matrix, std::size_t rows, std::size_t k_count, std::size_t stride,
                     E* to) {
  for (std::size_t row = 0; row < rows; row += kPanelRows<E>) {
    const std::size_t width = HWY_MIN(kPanelRows<E>, padded_rows<E>(rows - row));
    const std::size_t have = HWY_MIN(kPanelRows<E>, rows - row);
    for (std::size_t k = 0; k < k_count; ++k, to += width) {
      for (std::size_t at = 0; at < width; at += Lanes<E>::size) {
        const std::size_t count = HWY_MIN(Lanes<E>::size, have - at);
        load(matrix + k * stride + row + at, count).store(to + at);
      }
    }
  }
}

// A block of up to kSquare columns and rows: to[r * width + at] = from[at * rows + r].
constexpr std::size_t kSquare = 4;
template <class E>
HWY_INLINE void transpose_block(const E* from, std::size_t rows, std::size_t columns,
                                std::size_t count, E* to, std::size_t width) {
  for (std::size_t at = 0; at < columns; ++at) {
    for (std::size_t r = 0; r < count; ++r) to[r * width + at] = from[at * rows + r];
  }
}
#if HWY_TARGET != HWY_SCALAR
HWY_INLINE void transpose_square(const float* from, std::size_t rows, float* to,
                                 std::size_t width) {
  const hn::FixedTag<float, kSquare> d;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + rows);
  const auto c = hn::LoadU(d, from + 2 * rows), e = hn::LoadU(d, from + 3 * rows);
  const auto ac = hn::InterleaveLower(d, a, c), be = hn::InterleaveLower(d, b, e);
  const auto ac_high = hn::InterleaveUpper(d, a, c), be_high = hn::InterleaveUpper(d, b, e);
  hn::StoreU(hn::InterleaveLower(d, ac, be), d, to);
  hn::StoreU(hn::InterleaveUpper(d, ac, be), d, to + width);
  hn::StoreU(hn::InterleaveLower(d, ac_high, be_high), d, to + 2 * width);
  hn::StoreU(hn::InterleaveUpper(d, ac_high, be_high), d, to + 3 * width);
}
#endif
template <class E>
HWY_INLINE void transpose_square(const E* from, std::size_t rows, E* to, std::size_t width) {
  transpose_block(from, rows, kSquare, kSquare, to, width);
}

/// Packs the transpose {k, rows} of a matrix {rows, k}: what gradients of right sides multiply
/// with.
template <class E>
HWY_INLINE void pack_transposed(const E* matrix, std::size_t rows, std::size_t k_count, E* to) {
  for (std::size_t k = 0; k < k_count; k += kPanelRows<E>) {
    const std::size_t width = HWY_MIN(kPanelRows<E>, padded_rows<E>(k_count - k));
    const std::size_t have = HWY_MIN(kPanelRows<E>, k_count - k);
    for (std::size_t row = 0; row < rows; row += kSquare, to += kSquare * width) {
      const std::size_t count = HWY_MIN(kSquare, rows - row);
      for (std::size_t at = 0; at < have; at += kSquare) {
        const E* from = matrix + (k + at) * rows + row;
        const std::size_t columns = HWY_MIN(kSquare, have - at);
        if (count == kSquare && columns == kSquare) {
          transpose_square(from, rows, to + at, width);
        } else {
          transpose_block(from, rows, columns, count, to + at, width);
        }
      }
      for (std::size_t r = 0; r < count; ++r)
        std::fill(to + r * width + have, to + (r + 1) * width, E(0));
      if (count < kSquare) to -= (kSquare - count) * width;
    }
  }
}

}  // namespace dynet_like::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
