// Matrices packed into panels, the layout that products read fastest.
// Included once per target, like lanes-inl.h.

#if defined(DYNET_LIKE_PACKING_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_LIKE_PACKING_INL
#undef DYNET_LIKE_PACKING_INL
#else
#define DYNET_LIKE_PACKING_INL
#endif

#include <algorithm>

#include "dynet_like/device/cpu/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

// A tile is kPanelVectors vectors of rows times kTileColumns columns: as many accumulators as fit
// in the registers beside the vectors of a panel and one broadcast element.
#if HWY_MAX_BYTES >= 64 || HWY_ARCH_ARM_A64
constexpr int kPanelVectors = 4;
#else
constexpr int kPanelVectors = 2;
#endif
constexpr int kTileColumns = 6;

template <class E>
constexpr std::size_t kPanelRows = kPanelVectors* Lanes<E>::size;

/// Rows of a packed matrix: rounded up to whole vectors, padded.
template <class E>
constexpr std::size_t padded_rows(std::size_t rows) {
  return (rows + Lanes<E>::size - 1) / Lanes<E>::size * Lanes<E>::size;
}

/// The width of the next panel if so many rows are left. A panel of one vector would wait for its
/// own sums, so the last five vectors are split into panels of three and two.
template <class E>
constexpr std::size_t panel_width(std::size_t rows) {
  const std::size_t padded = padded_rows<E>(rows);
  if (kPanelVectors == 4 && padded == 5 * Lanes<E>::size) return 3 * Lanes<E>::size;
  return HWY_MIN(kPanelRows<E>, padded);
}

/// Packs a matrix {rows, k} whose columns are `stride` elements apart.
template <class E>
HWY_INLINE void pack(const E* matrix, std::size_t rows, std::size_t k_count, std::size_t stride,
                     E* to) {
  for (std::size_t row = 0, width; row < rows; row += width) {
    width = panel_width<E>(rows - row);
    const std::size_t have = HWY_MIN(width, rows - row);
    for (std::size_t k = 0; k < k_count; ++k, to += width) {
      for (std::size_t at = 0; at < width; at += Lanes<E>::size) {
        const std::size_t count = HWY_MIN(Lanes<E>::size, have - at);
        load(matrix + k * stride + row + at, count).store(to + at);
      }
    }
  }
}

// Calls f(lanes) for the elements k = 0, 1, ... of as many columns as there are lanes.
#if HWY_TARGET == HWY_SCALAR
template <class E, class F>
HWY_INLINE void for_elements(const E* const* x, std::size_t k_count, const F& f) {
  for (std::size_t k = 0; k < k_count; ++k) f(Lanes<E>::load(*x + k));
}
#else
// Loads blocks of 16 bytes: block b begins at element k of column b * 16 / sizeof(E).
template <class D, class E>
HWY_INLINE hn::Vec<D> load_blocks(D d, const E* const* x, std::size_t k) {
  if constexpr (hn::MaxLanes(D()) * sizeof(E) == 16) {
    return hn::LoadU(d, *x + k);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, x + hn::MaxLanes(half), k), load_blocks(half, x, k));
  }
}
// Transposes square blocks of columns and elements.
template <class F>
HWY_INLINE void transpose_blocks(const float* const* x, std::size_t k, const F& f) {
  const Lanes<float>::Tag d;
  const auto v0 = load_blocks(d, x, k), v1 = load_blocks(d, x + 1, k);
  const auto v2 = load_blocks(d, x + 2, k), v3 = load_blocks(d, x + 3, k);
  const auto even = hn::InterleaveLower(d, v0, v2), odd = hn::InterleaveLower(d, v1, v3);
  const auto even_high = hn::InterleaveUpper(d, v0, v2), odd_high = hn::InterleaveUpper(d, v1, v3);
  f(Lanes<float>(hn::InterleaveLower(d, even, odd)));
  f(Lanes<float>(hn::InterleaveUpper(d, even, odd)));
  f(Lanes<float>(hn::InterleaveLower(d, even_high, odd_high)));
  f(Lanes<float>(hn::InterleaveUpper(d, even_high, odd_high)));
}
template <class F>
HWY_INLINE void transpose_blocks(const double* const* x, std::size_t k, const F& f) {
  const Lanes<double>::Tag d;
  const auto v0 = load_blocks(d, x, k), v1 = load_blocks(d, x + 1, k);
  f(Lanes<double>(hn::InterleaveLower(d, v0, v1)));
  f(Lanes<double>(hn::InterleaveUpper(d, v0, v1)));
}
template <class E, class F>
HWY_INLINE void for_elements(const E* const* x, std::size_t k_count, const F& f) {
  constexpr std::size_t kBlock = 16 / sizeof(E);
  std::size_t k = 0;
  for (; k + kBlock <= k_count; k += kBlock) transpose_blocks(x, k, f);
  for (; k < k_count; ++k) {
    alignas(64) E numbers[Lanes<E>::size];
    for (std::size_t c = 0; c < Lanes<E>::size; ++c) numbers[c] = x[c][k];
    f(Lanes<E>::load(numbers));
  }
}
#endif

/// Row r of `to` gets element r of n columns: to[r * stride + c] = columns[c * rows + r]. Lanes
/// without a column, up to padded_rows(n) of them, repeat the last one.
template <class E>
HWY_INLINE void transpose_columns(const E* columns, std::size_t rows, std::size_t n,
                                  std::size_t stride, E* to) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  for (std::size_t at = 0; at < n; at += kLanes) {
    const E* some[kLanes];
    for (std::size_t c = 0; c < kLanes; ++c) some[c] = columns + HWY_MIN(at + c, n - 1) * rows;
    E* next = to + at;
    for_elements(some, rows, [&](Lanes<E> row) DYNET_LIKE_BODY {
      row.store(next);
      next += stride;
    });
  }
}

/// Packs the transpose {k, rows} of a matrix {rows, k}, which gradients of right sides multiply
/// with.
template <class E>
HWY_INLINE void pack_transposed(const E* matrix, std::size_t rows, std::size_t k_count, E* to) {
  for (std::size_t k = 0, width; k < k_count; k += width, to += rows * width) {
    width = panel_width<E>(k_count - k);
    transpose_columns(matrix + k * rows, rows, HWY_MIN(width, k_count - k), width, to);
  }
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
