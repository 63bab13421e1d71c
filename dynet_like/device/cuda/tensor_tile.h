// Tiles of products that tensor cores compute, with the shapes and loads of other tiles.
#pragma once

#include "dynet_like/device/cuda/tensor_cores.h"
#include "dynet_like/device/cuda/tile.h"
#include "dynet_like/device/device.h"

namespace dynet_like::detail::cuda {

/// Eight warps with 32 x 32 results each.
template <LargeProducts kKind>
struct TensorTile : Tile<float, 128, 64, 16, 8, 4> {
  static constexpr unsigned group_rows = 1, blocks_at_once = 2;
  // Padding makes the lanes of a warp read from all banks.
  static constexpr unsigned left_stride = rows + 8, right_stride = columns + 8;
  static constexpr unsigned left_vectors = depth * left_stride / kVector<float>;
  static constexpr unsigned right_vectors = depth * right_stride / kVector<float>;
};

/// Calls f.operator()<Tile>() for the choices that use tensor cores.
template <class F>
void with_tensor_tile(LargeProducts how, const F& f) {
  switch (how) {
    case LargeProducts::tf32:
      return f.template operator()<TensorTile<LargeProducts::tf32>>();
    case LargeProducts::tf32x3:
      return f.template operator()<TensorTile<LargeProducts::tf32x3>>();
    default:
      return f.template operator()<TensorTile<LargeProducts::bf16>>();
  }
}

/// The words of a line of a tile, rounded. With tf32x3 the second part is the first's rounding
/// error.
template <LargeProducts kKind>
struct Rounded {
  using Number = Tf32;
  static constexpr unsigned parts = kKind == LargeProducts::tf32x3 ? 2 : 1;

  __device__ static void read(const float* line, unsigned stride, unsigned word,
                              std::uint32_t (&to)[parts]) {
    const float x = line[word * stride];
    to[0] = round_to_tf32(x);
    if constexpr (parts == 2) to[1] = round_to_tf32(x - from_tf32(to[0]));
  }
};
template <>
struct Rounded<LargeProducts::bf16> {
  using Number = Bf16;
  static constexpr unsigned parts = 1;

  __device__ static void read(const float* line, unsigned stride, unsigned word,
                              std::uint32_t (&to)[1]) {
    to[0] = round_to_bf16(line[2 * word * stride], line[(2 * word + 1) * stride]);
  }
};

/// The results of one thread: its share of 2 x 4 products of 16 x 8 results.
template <LargeProducts kKind>
struct Accumulators<TensorTile<kKind>> {
  using Tile = TensorTile<kKind>;
  using Words = Rounded<kKind>;
  static constexpr unsigned kRows = 2, kColumns = 4, kWarpSize = 32;  // of a warp's part
  static constexpr unsigned kTerms = 8 * Words::Number::per_word;

  float sum[kRows][kColumns][4] = {};

  /// All terms of the tile; missing terms are zeros.
  __device__ void multiply(const float* left, const float* right, unsigned) {
    const unsigned g = threadIdx.x % kWarp / 4, t = threadIdx.x % kWarp % 4;
    left += first_row() + g;
    right += first_column() + g;
    for (unsigned k = 0; k < Tile::depth; k += kTerms) {
      const float* const row = left + k * Tile::left_stride;
      const float* const column = right + k * Tile::right_stride;
      std::uint32_t a[Words::parts][kRows][4], b[Words::parts][kColumns][2];
      for (unsigned i = 0; i < kRows; ++i) {
        for (unsigned w = 0; w < 4; ++w) {
          std::uint32_t words[Words::parts];
          Words::read(row + 16 * i + w % 2 * 8, Tile::left_stride, t + w / 2 * 4, words);
          for (unsigned p = 0; p < Words::parts; ++p) a[p][i][w] = words[p];
        }
      }
      for (unsigned j = 0; j < kColumns; ++j) {
        for (unsigned w = 0; w < 2; ++w) {
          std::uint32_t words[Words::parts];
          Words::read(column + 8 * j, Tile::right_stride, t + w * 4, words);
          for (unsigned p = 0; p < Words::parts; ++p) b[p][j][w] = words[p];
        }
      }
      for (unsigned i = 0; i < kRows; ++i) {
        for (unsigned j = 0; j < kColumns; ++j) {
          // Small products first; the product of both rounding errors is too small to matter.
          if constexpr (Words::parts == 2) {
            multiply_add(sum[i][j], a[1][i], b[0][j], typename Words::Number());
            multiply_add(sum[i][j], a[0][i], b[1][j], typename Words::Number());
          }
          multiply_add(sum[i][j], a[0][i], b[0][j], typename Words::Number());
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
