// Teams of threads: one thread, a warp or a block works on a line, which is n elements of an item
// with a constant stride. The size of teams depends only on the lines' shape, so that the bits of
// an item do not depend on the batch.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "dynet_like/device/cuda/threads.h"

namespace dynet_like::detail::cuda {

/// The lines of an item along a dimension, like Axis.
struct Lines {
  std::uint32_t inner = 1, n = 1, count = 1;

  explicit Lines(const Axis& axis)
      : inner(static_cast<std::uint32_t>(axis.inner)),
        n(static_cast<std::uint32_t>(axis.n)),
        count(static_cast<std::uint32_t>(axis.inner * axis.outer)) {}

  /// The index in an item of element k of a line. Below: the line of an element, and its place
  /// there.
  __device__ std::size_t at(std::uint32_t line, std::uint32_t k) const {
    return (std::size_t{line / inner} * n + k) * inner + line % inner;
  }
  __device__ std::uint32_t line_of(std::uint32_t at) const {
    return at / inner / n * inner + at % inner;
  }
  __device__ std::uint32_t place_in_line(std::uint32_t at) const { return at / inner % n; }
};

inline Lines lines_of(const Signature& type) {
  return Lines(Axis(type.inputs[0], type.attributes[0]));
}

// Short lines share a warp, and so do lines of which many lie side by side.
constexpr std::uint32_t kShortLine = 8, kLongLine = 1024;

/// The mean divides at the end.
template <bool average, class T>
__device__ inline T sum_or_mean(T sum, std::uint32_t count) {
  return average ? sum / static_cast<T>(count) : sum;
}

/// The number of threads for a line of n elements; `side_by_side` lines lie next to each other.
inline unsigned team_for(std::size_t n, std::size_t side_by_side) {
  if (n <= kShortLine || side_by_side >= kWarp) return 1;
  return n <= kLongLine ? kWarp : 256;
}
inline unsigned team_for(const Lines& lines) { return team_for(lines.n, lines.inner); }

struct Plus {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
/// Of a NaN and a number it returns the NaN: lanes that combine in different orders must agree.
struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b < a || std::isnan(a) ? a : b;
  }
};

template <class T>
__device__ inline T from_partner(T value, unsigned bits) {
  return __shfl_xor_sync(kWholeWarp, value, bits);
}

/// The team of the running thread.
template <unsigned size>
struct Team {
  unsigned rank = threadIdx.x % size;

  /// Calls f(k) for all k < n, shared by the team.
  template <class F>
  __device__ void each(std::uint32_t n, const F& f) const {
    for (std::uint32_t k = rank; k < n; k += size) f(k);
  }

  /// Combines the values of all threads; `operation` must be commutative.
  template <class T, class Operation>
  __device__ T combine(T value, const Operation& operation) const {
    if constexpr (size > 1) {
      for (unsigned bits = kWarp / 2; bits > 0; bits /= 2) {
        value = operation(value, from_partner(value, bits));
      }
    }
    if constexpr (size > kWarp) {
      SHARED_ARRAY(T, parts, size / kWarp);
      if (rank % kWarp == 0) parts[rank / kWarp] = value;
      __syncthreads();
      value = parts[0];
      for (unsigned w = 1; w < size / kWarp; ++w) value = operation(value, parts[w]);
      __syncthreads();
    }
    return value;
  }

  /// The sum (below: the largest) of f(k) over all k < n.
  template <class T, class F>
  __device__ T sum(std::uint32_t n, const F& f) const {
    T sum = 0;
    each(n, [&](std::uint32_t k) { sum = sum + f(k); });
    return combine(sum, Plus());
  }
  template <class T, class F>
  __device__ T largest(std::uint32_t n, const F& f) const {
    T largest = -std::numeric_limits<T>::infinity();
    each(n, [&](std::uint32_t k) { largest = Larger()(largest, f(k)); });
    return combine(largest, Larger());
  }
};

/// Finds the line of a team in a launch by launch_teams; false if it has none.
template <unsigned size>
__device__ bool find_line(const Part& part, Place& place) {
  wait_for_earlier();
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const auto index = static_cast<std::uint32_t>(thread / size);
  place = place_in(part, index);
  return index < part.count;
}

template <unsigned size>
using TeamSize = std::integral_constant<unsigned, size>;

/// Launches kernel(TeamSize), with a team of `team` threads for each of `size` lines of n items.
template <class Kernel, class... Arguments>
void launch_teams(Commands& commands, std::size_t n, std::size_t size, unsigned team,
                  const Kernel& kernel, const Arguments&... arguments) {
  for_parts(n, size, team, [&](const Part& part) {
    const std::size_t threads = std::size_t{part.count} * team;
    if (team == 1) {
      const Shape shape = blocks_for(threads, kThreads);
      commands.launch(shape, kernel(TeamSize<1>()), part, arguments...);
    } else if (team == kWarp) {
      // Small blocks, so that few lines keep many multiprocessors busy.
      const Shape shape = blocks_for(threads, 2 * kWarp);
      commands.launch_cooperating(shape, kernel(TeamSize<kWarp>()), part, arguments...);
    } else {
      const Shape shape = blocks_for(threads, 256);
      commands.launch_cooperating(shape, kernel(TeamSize<256>()), part, arguments...);
    }
  });
}
/// The same for the lines of an op along a dimension.
template <class Kernel, class... Arguments>
void launch_lines(Commands& commands, std::size_t n, const Lines& lines, const Kernel& kernel,
                  const Arguments&... arguments) {
  launch_teams(commands, n, lines.count, team_for(lines), kernel, lines, arguments...);
}

}  // namespace dynet_like::detail::cuda
