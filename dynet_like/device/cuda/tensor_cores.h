// Products of 16 x 8 by 8 x 8 numbers by the tensor cores of a warp, from rounded numbers.
#pragma once

#include <cstdint>

#include "dynet_like/device/cuda/language.h"

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

/// sum += a b of a warp, in the layout of PTX's `mma.sync` m16n8k8. With g = lane / 4, t = lane % 4:
///   a   terms t of rows g and g + 8, then terms t + 4 of the same rows
///   b   terms t and t + 4 of column g
///   sum row g of columns 2t and 2t + 1, then row g + 8 of the same columns
__device__ inline void multiply_add(float* sum, const std::uint32_t* a, const std::uint32_t* b) {
#if defined(__CUDA_ARCH__)
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif defined(DYNET_LIKE_CUDA_HOST)
  host::multiply_add(DYNET_LIKE_PLACE, sum, a, b);
#endif
}

}  // namespace dynet_like::detail::cuda
