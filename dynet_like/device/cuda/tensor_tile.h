// Tiles of products that tensor cores compute, with the shapes and loads of other tiles.
#pragma once

#include <cstdint>

#include "dynet_like/device/cuda/tile.h"

namespace dynet_like::detail::cuda {

/// The nearest number with 10 bits behind the point (TF32), as a word.
__device__ inline std::uint32_t round_to_tf32(float x) {
  std::uint32_t word;
#ifdef __CUDA_ARCH__
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(x));
#else
  __builtin_memcpy(&word, &x, sizeof(word));
  word = (word + 0x1000u) & ~0x1fffu;
#endif
  return word;
}

/// sum = a b of a warp, eight terms, in the layout of PTX's `mma.sync` m16n8k8. With g = lane / 4,
/// t = lane % 4:
///   a   terms t of rows g and g + 8, then terms t + 4 of the same rows
///   b   terms t and t + 4 of column g
///   sum row g of columns 2t and 2t + 1, then row g + 8 of the same columns
__device__ inline void multiply_eight(float* sum, const std::uint32_t* a, const std::uint32_t* b) {
#if defined(__CUDA_ARCH__)
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
      : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
#elif defined(DYNET_LIKE_CUDA_HOST)
  host::multiply_eight(DYNET_LIKE_PLACE, sum, a, b);
#endif
}

/// Eight warps with 32 x 32 results each.
struct TensorTile : Tile<float, 128, 64, 16, 8, 4> {
  static constexpr unsigned group_rows = 1, blocks_at_once = 2;
  // Padding makes the lanes of a warp read from all banks.
  static constexpr unsigned left_stride = rows + 8, right_stride = columns + 8;
  static constexpr unsigned left_vectors = depth * left_stride / kVector<float>;
  static constexpr unsigned right_vectors = depth * right_stride / kVector<float>;
};

/// The results of one thread: its share of 2 x 4 products of 16 x 8 results.
template <>
struct Accumulators<TensorTile> {
  using Tile = TensorTile;
  static constexpr unsigned kRows = 2, kColumns = 4, kWarpSize = 32;  // of a warp's part
  static constexpr unsigned kTerms = 8;                               // of a product

  float sum[kRows][kColumns][4] = {};

  /// All terms of the tile; missing terms are zeros. Tensor cores cut sums off instead of rounding
  /// them, so that the errors of a long sum would all have one sign: they sum eight terms.
  __device__ void multiply(const float* left, const float* right, unsigned) {
    const unsigned g = threadIdx.x % kWarp / 4, t = threadIdx.x % kWarp % 4;
    left += t * Tile::left_stride + first_row() + g;
    right += t * Tile::right_stride + first_column() + g;
    for (unsigned k = 0; k < Tile::depth; k += kTerms) {
      const float* const row = left + k * Tile::left_stride;
      const float* const column = right + k * Tile::right_stride;
      std::uint32_t a[kRows][4], b[kColumns][2];
      for (unsigned i = 0; i < kRows; ++i) {
        for (unsigned w = 0; w < 4; ++w) {
          a[i][w] = round_to_tf32(row[w / 2 * 4 * Tile::left_stride + 16 * i + w % 2 * 8]);
        }
      }
      for (unsigned j = 0; j < kColumns; ++j) {
        for (unsigned w = 0; w < 2; ++w) {
          b[j][w] = round_to_tf32(column[w * 4 * Tile::right_stride + 8 * j]);
        }
      }
      for (unsigned i = 0; i < kRows; ++i) {
        for (unsigned j = 0; j < kColumns; ++j) {
          float of_eight[4];
          multiply_eight(of_eight, a[i], b[j]);
          for (unsigned s = 0; s < 4; ++s) sum[i][j][s] += of_eight[s];
        }
      }
    }
  }

  /// Calls finish(row, column, result) for every result.
  template <class Finish>
  __device__ void for_groups(const Finish& finish) {
    const unsigned g = threadIdx.x % kWarp / 4, t = threadIdx.x % kWarp % 4;
    for_constants<kRows * kColumns * 4>([&](auto at) {
      constexpr unsigned i = at / (kColumns * 4), j = at / 4 % kColumns, s = at % 4;
      finish(first_row() + 16 * i + g + s / 2 * 8, first_column() + 8 * j + 2 * t + s % 2,
             &sum[i][j][s]);
    });
  }

 private:
  static constexpr unsigned kAlongRows = Tile::rows / kWarpSize;

  __device__ static unsigned first_row() { return threadIdx.x / kWarp % kAlongRows * kWarpSize; }
  __device__ static unsigned first_column() { return threadIdx.x / kWarp / kAlongRows * kWarpSize; }
};

}  // namespace dynet_like::detail::cuda
