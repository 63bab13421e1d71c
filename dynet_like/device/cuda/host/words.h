// The keywords of CUDA for a C++ compiler: kernels run on the CPU, one thread of a block at a time.
#pragma once

#include <math.h>  // in C++ with functions of float, outside of std too
#include <cstddef>
#include <cstdint>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__

namespace dynet_like::detail::cuda::host {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

/// The indices of the running thread; the emulator sets them.
struct Position {
  Index thread, block, block_size, grid_size;
};
// Fast to read: see Races::running.
inline constinit thread_local Position position __attribute__((tls_model("initial-exec")));

/// A line of a kernel.
struct Place {
  const char* file;
  int line;
  bool operator==(const Place&) const = default;
};

// These throw DeviceError, which ends the launch, if the threads of a GPU would wait for ever or
// get undefined values.

/// Notes that the thread has waited for earlier kernels.
void note_wait();
/// Begins the steps of a launch whose blocks wait for each other after each; returns the number of
/// the step that runs now. The emulator runs all blocks from the start for each of `count` steps.
unsigned begin_step(unsigned count);
/// Waits for all threads of the block, which must wait at the same place.
void barrier(Place place);
/// Waits for the threads of the warp, and orders their accesses to memory.
void warp_barrier(Place place, unsigned mask = 0xffffffffu);
/// Waits for them, but orders nothing, as CUDA's shuffles. Returns the bits of lane `from`, or the
/// caller's own if there is no such lane. Masks must name the whole warp.
std::uint64_t exchange(Place place, unsigned mask, std::uint64_t bits, unsigned from);
/// sum = a b of a warp, in a block of up to 256 threads. tensor_tile.h describes the arguments.
void multiply_eight(Place place, float* sum, const std::uint32_t* a, const std::uint32_t* b);
/// Memory that all threads of the running block share; `id` identifies the array.
void* shared_memory(Place place, const void* id, std::size_t size);

inline unsigned lane() {
  return (position.thread.y * position.block_size.x + position.thread.x) % 32;
}

template <class T>
T shuffle(Place place, unsigned mask, T value, unsigned from) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = exchange(place, mask, bits, from);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace dynet_like::detail::cuda::host

#define DYNET_LIKE_PLACE (::dynet_like::detail::cuda::host::Place{__FILE__, __LINE__})
#define threadIdx (::dynet_like::detail::cuda::host::position.thread)
#define blockIdx (::dynet_like::detail::cuda::host::position.block)
#define blockDim (::dynet_like::detail::cuda::host::position.block_size)
#define gridDim (::dynet_like::detail::cuda::host::position.grid_size)
#define __syncthreads() (::dynet_like::detail::cuda::host::barrier(DYNET_LIKE_PLACE))
#define __syncwarp(...) \
  (::dynet_like::detail::cuda::host::warp_barrier(DYNET_LIKE_PLACE __VA_OPT__(, ) __VA_ARGS__))
#define __shfl_sync(mask, value, from) \
  (::dynet_like::detail::cuda::host::shuffle(DYNET_LIKE_PLACE, mask, value, (from) % 32u))
#define __shfl_xor_sync(mask, value, bits)                                  \
  (::dynet_like::detail::cuda::host::shuffle(DYNET_LIKE_PLACE, mask, value, \
                                             ::dynet_like::detail::cuda::host::lane() ^ (bits)))
/// Memory that the threads of a block share: SHARED_ARRAY(float, tile, 32 * 33); uninitialised.
#define SHARED_ARRAY(type, name, size)                                                   \
  static const char name##_id = 0;                                                       \
  type* const name = static_cast<type*>(::dynet_like::detail::cuda::host::shared_memory( \
      DYNET_LIKE_PLACE, &name##_id, sizeof(type) * (size)))

struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};
