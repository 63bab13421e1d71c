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

/// Rows of a packed matrix: rounded up to whole vectors, padded with zeros.
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

/// Packs the transpose {k, rows} of a matrix {rows, k}, which gradients of right sides multiply
/// with.
template <class E>
HWY_INLINE void pack_transposed(const E* matrix, std::size_t rows, std::size_t k_count, E* to) {
  for (std::size_t k = 0, width; k < k_count; k += width) {
    width = panel_width<E>(k_count - k);
    const std::size_t have = HWY_MIN(width, k_count - k);
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

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
