// The language of kernels: CUDA C++ under nvcc, and the same keywords for execution on the CPU.
//
// Kernels use what both have: __global__, __device__, threadIdx, blockIdx, blockDim, gridDim,
// __syncthreads, __syncwarp, __shfl_sync, __shfl_xor_sync, all for whole warps, float4, double2
// and the functions of <cmath>. The compiler never joins a product and a sum into an fma.
#pragma once

#if defined(__CUDACC__)
#include <cuda_runtime.h>
/// Memory that the threads of a block share: SHARED_ARRAY(float, tile, 32 * 33); uninitialised.
#define SHARED_ARRAY(type, name, size) __shared__ type name[size]
#elif defined(DYNET_LIKE_CUDA_HOST)
#include "dynet_like/device/cuda/host/words.h"
#endif

namespace dynet_like::detail::cuda {

#if defined(DYNET_LIKE_CUDA_HOST)
constexpr const char* kFamily = "cuda-host";  // of devices
#else
constexpr const char* kFamily = "cuda";
#endif

/// Lets the next kernel begin. Then waits until the results of earlier kernels are visible.
#if defined(__CUDACC__)
__device__ inline void wait_for_earlier() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
#elif defined(DYNET_LIKE_CUDA_HOST)
inline void wait_for_earlier() { host::note_wait(); }
#endif

#if defined(__CUDACC__) || defined(DYNET_LIKE_CUDA_HOST)
/// Returns the same pointer, but tells nvcc that it points to global memory. For pointers from
/// lists nvcc must assume that they may point to shared memory, and generates slower loads.
template <class T>
__device__ T* global(T* at) {
#ifdef __CUDA_ARCH__
  __builtin_assume(__isGlobal(at));
#endif
  return at;
}
#endif

constexpr unsigned kWarp = 32;
constexpr unsigned kWholeWarp = 0xffffffffu;

}  // namespace dynet_like::detail::cuda
