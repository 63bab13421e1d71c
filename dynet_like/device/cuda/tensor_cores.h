// Products of matrices of 16 rows or 8 columns by the tensor cores of a warp, from rounded numbers.
// The layout of numbers in registers is described in PTX's documentation of `mma.sync`.
#pragma once

#include <cstdint>

#include "dynet_like/device/cuda/language.h"

namespace dynet_like::detail::cuda {

/// The nearest number with 10 bits behind the point, as a word.
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
__device__ inline float from_tf32(std::uint32_t word) {
  float x;
  __builtin_memcpy(&x, &word, sizeof(x));
  return x;
}

/// Two numbers with 7 bits behind the point in one word, the first in its lower half.
__device__ inline std::uint32_t round_to_bf16(float first, float second) {
  std::uint32_t word;
#ifdef __CUDA_ARCH__
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
#else
  const auto half = [](float x) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof(bits));
    return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;  // to nearest, ties to even
  };
  word = half(first) | half(second) << 16;
#endif
  return word;
}

/// The kinds of numbers: `per_word` numbers lie in a word, and a tile has 8 words along the terms.
struct Tf32 {
  static constexpr unsigned per_word = 1;
};
struct Bf16 {
  static constexpr unsigned per_word = 2;
};

/// sum += a b of a warp. With g = lane / 4, t = lane % 4, and words counted along the terms:
///   a   words t of rows g and g + 8, then words t + 4 of the same rows
///   b   words t and t + 4 of column g
///   sum row g of columns 2t and 2t + 1, then row g + 8 of the same columns
template <class Kind>
__device__ void multiply_add(float* sum, const std::uint32_t* a, const std::uint32_t* b, Kind) {
#if defined(__CUDA_ARCH__)
#define MULTIPLY_ADD(shape, kind)                                                     \
  asm volatile("mma.sync.aligned." shape ".row.col.f32." kind "." kind                \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])               \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
  if constexpr (Kind::per_word == 1) {
    MULTIPLY_ADD("m16n8k8", "tf32");
  } else {
    MULTIPLY_ADD("m16n8k16", "bf16");
  }
#undef MULTIPLY_ADD
#elif defined(DYNET_LIKE_CUDA_HOST)
  host::multiply_add(DYNET_LIKE_PLACE, sum, a, b, Kind::per_word);
#endif
}

}  // namespace dynet_like::detail::cuda
