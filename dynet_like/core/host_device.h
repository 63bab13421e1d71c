// The marker of functions over plain numbers: it makes nvcc compile them for GPUs, too.
#pragma once

#if defined(__CUDACC__)
#define DYNET_LIKE_HOST_DEVICE __host__ __device__ inline
#else
#define DYNET_LIKE_HOST_DEVICE inline
#endif
