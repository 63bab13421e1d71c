// Random words of an element, and dropout of it.
#pragma once

#include <cstdint>

#include "dynet_like/core/philox.h"
#include "dynet_like/device/cuda/threads.h"
#include "dynet_like/ops/draws.h"

namespace dynet_like::detail::cuda {

/// The block of an element's word among those that the integers of a random node name.
struct Words {
  draws::Words block;
  unsigned chosen;

  __device__ Words(const std::uint32_t* integers, std::uint32_t element) {
    const std::uint64_t word = std::uint64_t{integers[3]} + element;
    block = random_block(integers, word / 4);
    chosen = static_cast<unsigned>(word % 4);
  }
};

/// kept ? x / (1 - p) : 0. The backward kernel computes the mask again instead of reading it.
template <class T>
__device__ T drop(const std::uint32_t* integers, T p, std::uint32_t element, T x) {
  const Words words(integers, element);
  const T scaled = x * (T(1) / (T(1) - p));
  return draws::half_open(words.block[words.chosen]) >= static_cast<double>(p) ? scaled : T(0);
}

}  // namespace dynet_like::detail::cuda
