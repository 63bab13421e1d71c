// The language of kernels: CUDA C++ under nvcc; elsewhere the same words for execution on the CPU.
//
// Kernels use what both have: __global__, __device__, threadIdx, blockIdx, blockDim, gridDim,
// __syncthreads, __syncwarp, __shfl_sync, __shfl_down_sync, __shfl_xor_sync, float4, double2 and
// the functions of <cmath>. A product and a sum become one fma only where it is written.
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

constexpr unsigned kWarp = 32;
constexpr unsigned kWholeWarp = 0xffffffffu;

}  // namespace dynet_like::detail::cuda
