// The core of a tiled product: tiles of both sides in shared memory, results in registers.
#pragma once

#include <type_traits>
#include <utility>

#include "dynet_like/device/cuda/language.h"

namespace dynet_like::detail::cuda {

/// The unit of a thread's reads and writes where alignment permits: 16 bytes.
template <class T>
using Vector = std::conditional_t<std::is_same_v<T, float>, float4, double2>;
template <class T>
constexpr unsigned kVector = sizeof(Vector<T>) / sizeof(T);

__device__ inline void unpack(const float4& from, float* to) {
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
  to[3] = from.w;
}
__device__ inline void unpack(const double2& from, double* to) {
  to[0] = from.x;
  to[1] = from.y;
}
__device__ inline float4 pack(const float* from) { return {from[0], from[1], from[2], from[3]}; }
__device__ inline double2 pack(const double* from) { return {from[0], from[1]}; }

template <class T>
__device__ bool is_aligned(const T* at) {
  return reinterpret_cast<std::uintptr_t>(at) % sizeof(Vector<T>) == 0;
}

/// Loads the first `count` of kVector elements from any address; the others are zeros.
template <class T>
__device__ void load_vector(const T* from, unsigned count, T* to) {
  if (count >= kVector<T> && is_aligned(from)) {
    unpack(*reinterpret_cast<const Vector<T>*>(global(from)), to);
  } else {
    for (unsigned i = 0; i < kVector<T>; ++i) to[i] = i < count ? *global(from + i) : T(0);
  }
}

/// Loads the first `count` of kCount numbers; the others are zeros.
template <unsigned kCount, class T>
__device__ void get_vector(const T* from, unsigned count, T* to) {
  if constexpr (kCount == kVector<T>) {
    load_vector(from, count, to);
  } else {
    for (unsigned i = 0; i < kCount; ++i) to[i] = i < count ? *global(from + i) : T(0);
  }
}

/// Writes the first `count` of kCount numbers.
template <unsigned kCount, class T>
__device__ void put_vector(const T* results, T* to, unsigned count) {
  to = global(to);
  if (kCount == kVector<T> && count >= kCount && is_aligned(to)) {
    *reinterpret_cast<Vector<T>*>(to) = pack(results);
  } else {
    for (unsigned i = 0; i < kCount; ++i) {
      if (i < count) to[i] = results[i];
    }
  }
}

/// Calls f(0), f(1), ... with constants, so that what they index stays in registers.
template <unsigned kCount, class F>
__device__ void for_constants(const F& f) {
  [&]<unsigned... i>(std::integer_sequence<unsigned, i...>) {
    (f(std::integral_constant<unsigned, i>()), ...);
  }
  (std::make_integer_sequence<unsigned, kCount>());
}

/// How many of `count` results of a thread are neighbours.
template <class T>
constexpr unsigned group_of(unsigned count) {
  return count < kVector<T> ? count : kVector<T>;
}

/// A block computes kRows x kColumns results, kDepth terms at a time. A thread has kThreadRows x
/// kThreadColumns of them, in groups of neighbours: as long as a vector, or kGroupRows rows. Groups
/// are as far apart as possible, so that neighbouring threads read neighbouring vectors.
template <class T, unsigned kRows, unsigned kColumns, unsigned kDepth, unsigned kThreadRows,
          unsigned kThreadColumns, unsigned kGroupRows = group_of<T>(kThreadRows)>
struct Tile {
  using Element = T;
  static constexpr unsigned rows = kRows, columns = kColumns, depth = kDepth;
  static constexpr unsigned thread_rows = kThreadRows, thread_columns = kThreadColumns;
  static constexpr unsigned group_rows = kGroupRows;
  static constexpr unsigned group_columns = group_of<T>(kThreadColumns);
  static constexpr unsigned row_groups = kThreadRows / group_rows;
  static constexpr unsigned column_groups = kThreadColumns / group_columns;
  static constexpr unsigned threads_along_rows = kRows / kThreadRows;
  static constexpr unsigned threads = threads_along_rows * (kColumns / kThreadColumns);
  /// How many blocks fit in the registers of a multiprocessor, including the vectors being loaded.
  static constexpr unsigned blocks_at_once = kThreadRows * kThreadColumns * sizeof(T) > 64 ? 3 : 4;

  // In shared memory the numbers of one term are consecutive. Vectors begin at aligned addresses,
  // unless columns are read one by one. Padding spreads column-wise writes over the banks.
  static constexpr unsigned left_stride = kRows + kVector<T>;
  static constexpr unsigned right_stride = kColumns + (group_columns == 1 ? 1 : kVector<T>);
  static constexpr unsigned left_vectors = kDepth * left_stride / kVector<T>;
  static constexpr unsigned right_vectors = kDepth * right_stride / kVector<T>;
  // The number of vectors that a thread loads.
  static constexpr unsigned left_loads = kRows * kDepth / kVector<T> / threads;
  static constexpr unsigned right_loads = kColumns * kDepth / kVector<T> / threads;
  static_assert(left_loads * kVector<T> * threads == kRows * kDepth);
  static_assert(right_loads * kVector<T> * threads == kColumns * kDepth);

  __device__ static unsigned row_of(unsigned group) {
    return group * (kRows / row_groups) + threadIdx.x % threads_along_rows * group_rows;
  }
  __device__ static unsigned column_of(unsigned group) {
    return group * (kColumns / column_groups) + threadIdx.x / threads_along_rows * group_columns;
  }
};

/// The first element of a vector in a tile: `line` counts rows or columns, `term` the depth.
struct TilePlace {
  unsigned line, term;
};
/// The place of vector `load` of this thread, if neighbours in memory are lines of the same term.
template <class T, unsigned kLines>
__device__ TilePlace place_along_lines(unsigned load, unsigned threads) {
  const unsigned i = load * threads + threadIdx.x;
  return {i % (kLines / kVector<T>)*kVector<T>, i / (kLines / kVector<T>)};
}
/// The same if neighbours are terms of the same line: four threads read 64 bytes of a line.
template <class T, unsigned kLines>
__device__ TilePlace place_along_terms(unsigned load, unsigned threads) {
  const unsigned i = load * threads + threadIdx.x;
  return {i / 4 % kLines, (i % 4 + i / (4 * kLines) * 4) * kVector<T>};
}
template <class T>
__device__ void store_along_lines(const T* from, T* tile, unsigned stride, TilePlace place) {
  *reinterpret_cast<Vector<T>*>(tile + place.term * stride + place.line) = pack(from);
}
template <class T>
__device__ void store_along_terms(const T* from, T* tile, unsigned stride, TilePlace place) {
  for (unsigned i = 0; i < kVector<T>; ++i) tile[(place.term + i) * stride + place.line] = from[i];
}

/// Loads kGroups groups of kCount neighbours each.
template <unsigned kGroups, unsigned kCount, class T>
__device__ void load_groups(const T* from, unsigned distance, T* to) {
  for (unsigned g = 0; g < kGroups; ++g, from += distance) {
    if constexpr (kCount == kVector<T>) {
      unpack(*reinterpret_cast<const Vector<T>*>(from), to + g * kCount);
    } else {
      for (unsigned i = 0; i < kCount; ++i) to[g * kCount + i] = from[i];
    }
  }
}

/// The results of one thread of a tile.
template <class Tile>
struct Accumulators {
  using T = typename Tile::Element;
  T sum[Tile::thread_columns][Tile::thread_rows] = {};

  /// Adds `terms` products to every result, one after the other.
  __device__ void multiply(const T* left, const T* right, unsigned terms) {
    left += Tile::row_of(0);
    right += Tile::column_of(0);
    for (unsigned k = 0; k < terms; ++k, left += Tile::left_stride, right += Tile::right_stride) {
      T a[Tile::thread_rows], b[Tile::thread_columns];
      load_groups<Tile::row_groups, Tile::group_rows>(left, Tile::rows / Tile::row_groups, a);
      load_groups<Tile::column_groups, Tile::group_columns>(right,
                                                            Tile::columns / Tile::column_groups, b);
      for (unsigned c = 0; c < Tile::thread_columns; ++c) {
        for (unsigned r = 0; r < Tile::thread_rows; ++r) {
          sum[c][r] = std::fma(a[r], b[c], sum[c][r]);
        }
      }
    }
  }

  /// Calls finish(row, column, results) for every group of rows in a column of the tile, with
  /// Tile::group_rows results.
  template <class Finish>
  __device__ void for_groups(const Finish& finish) {
    for_constants<Tile::thread_columns>([&](auto c) {
      const unsigned column = Tile::column_of(c / Tile::group_columns) + c % Tile::group_columns;
      for_constants<Tile::row_groups>(
          [&](auto g) { finish(Tile::row_of(g), column, sum[c] + g * Tile::group_rows); });
    });
  }
};

/// Multiplies all tiles that a loader loads. Each side has two buffers: while one pair is
/// multiplied, the next one is being loaded into registers. A tile of one warp only waits for that
/// warp.
template <class Tile, class Loader>
__device__ void multiply_all(Accumulators<Tile>& results, Loader& loader,
                             Vector<typename Tile::Element>* left_tiles,
                             Vector<typename Tile::Element>* right_tiles) {
  using T = typename Tile::Element;
  for (unsigned buffer = 0;; buffer ^= 1) {
    T* const left = reinterpret_cast<T*>(left_tiles + buffer * Tile::left_vectors);
    T* const right = reinterpret_cast<T*>(right_tiles + buffer * Tile::right_vectors);
    loader.store(left, right);
    if constexpr (Tile::threads == kWarp) {
      __syncwarp();
    } else {
      __syncthreads();
    }
    const unsigned terms = loader.terms();
    const bool more = loader.load_next();
    results.multiply(left, right, terms);
    if (!more) break;
  }
}

}  // namespace dynet_like::detail::cuda
