// The part of a gathered product that one block, or one warp of it, computes.
//
// The number of terms alone decides how they are cut into chunks. A chunk is one chain of fused
// multiply-adds, and the sums of chunks are added in order. So the bits do not depend on the tile.
#pragma once

#include "dynet_like/device/cuda/gathered_products.h"
#include "dynet_like/device/cuda/tile.h"

namespace dynet_like::detail::cuda {

/// A chunk has up to kChunkTerms terms, but there are at most kMostChunks chunks.
constexpr unsigned kMostChunks = 4, kChunkTerms = 128;

struct Chunks {
  unsigned terms, count, length;

  constexpr explicit Chunks(unsigned all) : terms(all), count(1), length(all) {
    if (all <= kChunkTerms) return;
    count = (all + kChunkTerms - 1) / kChunkTerms;
    if (count > kMostChunks) count = kMostChunks;
    length = ((all + count - 1) / count + 31) / 32 * 32;  // vectors must begin at aligned addresses
  }
  constexpr unsigned begin(unsigned chunk) const { return chunk * length; }
  constexpr unsigned end(unsigned chunk) const {
    return chunk + 1 == count ? terms : (chunk + 1) * length;
  }
};

/// The rows and columns of a product that a block computes. Columns are counted over all items from
/// `first_item` on.
struct TilePart {
  unsigned row, column, rows, columns, first_item;
};

template <class Tile, class T>
__device__ TilePart tile_part_of(const GatheredProduct<T>& product) {
  const unsigned block = blockIdx.x - product.first_block;
  const unsigned rest = block / product.row_tiles, group = rest / product.column_tiles;
  TilePart part;
  part.row = block % product.row_tiles * Tile::rows;
  part.column = rest % product.column_tiles * Tile::columns;
  part.rows = product.rows - part.row;
  part.columns = product.columns * (product.is_joined ? product.items : 1) - part.column;
  part.first_item = group;
  return part;
}

/// The item of a column of the part, and the column's number in the item.
struct ColumnPlace {
  unsigned item, column;
};
template <class T>
__device__ ColumnPlace place_of(const GatheredProduct<T>& product, const TilePart& part,
                                unsigned column) {
  const unsigned at = part.column + column;
  if (product.columns == 1) return {part.first_item + at, 0};
  return {part.first_item + at / product.columns, at % product.columns};
}

/// The lines of a tile are consecutive rows of a part.
struct RowsInOrder {
  unsigned first, rows;

  __device__ explicit RowsInOrder(const TilePart& part) : first(part.row), rows(part.rows) {}
  __device__ unsigned row(unsigned line) const { return first + line; }
  /// How many consecutive rows begin at this line.
  __device__ unsigned count(unsigned line) const { return line < rows ? rows - line : 0; }
};

/// The lines of a tile are the same elements of several gates, which have `hidden` rows each. The
/// number of elements, 1 << shift, is a whole number of vectors.
struct RowsOfGates {
  unsigned first, rows, gates, shift, hidden;

  __device__ unsigned element(unsigned line) const { return line & ((1u << shift) - 1); }
  __device__ unsigned row(unsigned line) const {
    return (line >> shift) * hidden + first + element(line);
  }
  __device__ unsigned count(unsigned line) const {
    return (line >> shift) < gates && element(line) < rows ? rows - element(line) : 0;
  }
};

/// Loads the tiles of both sides into shared memory, for all factors one after the other, as far as
/// they belong to a chunk.
template <class Tile, bool kTransposed, class Rows>
class Loader {
  using T = typename Tile::Element;

 public:
  __device__ Loader(const GatheredProduct<T>& product, const Factor<T>* factors,
                    const TilePart& part, const Rows& rows, unsigned begin, unsigned end)
      : product_(product),
        part_(part),
        rows_(rows),
        stride_(product.rows),
        factor_(factors + product.first_factor),
        left_in_chunk_(end - begin) {
    const Factor<T>* const last = factor_ + product.factor_count - 1;
    for (; factor_ != last && begin >= factor_->inner; ++factor_) begin -= factor_->inner;
    begin_factor(begin);
    load();
  }

  /// The number of terms of the tiles that were loaded last.
  __device__ unsigned terms() const {
    const unsigned left = end_ - done_;
    return left < Tile::depth ? left : Tile::depth;
  }
  /// Begins to load the next tiles; false if there are none.
  __device__ bool load_next() {
    done_ += Tile::depth;
    if (done_ >= end_) {
      if (left_in_chunk_ == 0) return false;
      ++factor_;
      begin_factor(0);
    }
    load();
    return true;
  }
  __device__ void store(T* left, T* right) const {
    for (unsigned i = 0; i < Tile::left_loads; ++i) {
      if constexpr (kTransposed) {
        store_along_terms(left_[i], left, Tile::left_stride, left_place(i));
      } else {
        store_along_lines(left_[i], left, Tile::left_stride, left_place(i));
      }
    }
    for (unsigned i = 0; i < Tile::right_loads; ++i) {
      store_along_terms(right_[i], right, Tile::right_stride, right_place(i));
    }
  }

 private:
  __device__ static TilePlace left_place(unsigned load) {
    if constexpr (kTransposed) return place_along_terms<T, Tile::rows>(load, Tile::threads);
    return place_along_lines<T, Tile::rows>(load, Tile::threads);
  }
  __device__ static TilePlace right_place(unsigned load) {
    return place_along_terms<T, Tile::columns>(load, Tile::threads);
  }
  __device__ static unsigned difference(unsigned a, unsigned b) { return a > b ? a - b : 0; }

  __device__ void begin_factor(unsigned first) {
    inner_ = factor_->inner;
    done_ = first;
    end_ = inner_ - first < left_in_chunk_ ? inner_ : first + left_in_chunk_;
    left_in_chunk_ -= end_ - first;
    matrix_ = factor_->matrix.at(part_.first_item);
    for (unsigned i = 0; i < Tile::right_loads; ++i) {
      const unsigned line = right_place(i).line;
      column_[i] = nullptr;
      if (line >= part_.columns) continue;
      const ColumnPlace place = place_of(product_, part_, line);
      column_[i] = factor_->right.at(place.item) + std::size_t{place.column} * inner_;
    }
  }

  __device__ void load() {
    for (unsigned i = 0; i < Tile::left_loads; ++i) {
      const TilePlace place = left_place(i);
      const unsigned row = rows_.row(place.line), term = done_ + place.term;
      if constexpr (kTransposed) {
        const unsigned count = rows_.count(place.line) == 0 ? 0 : difference(end_, term);
        load_vector(matrix_ + std::size_t{row} * inner_ + term, count, left_[i]);
      } else {
        const unsigned count = term < end_ ? rows_.count(place.line) : 0;
        load_vector(matrix_ + std::size_t{term} * stride_ + row, count, left_[i]);
      }
    }
    for (unsigned i = 0; i < Tile::right_loads; ++i) {
      const unsigned term = done_ + right_place(i).term;
      const unsigned count = column_[i] == nullptr ? 0 : difference(end_, term);
      load_vector(count == 0 ? nullptr : column_[i] + term, count, right_[i]);
    }
  }

  const GatheredProduct<T>& product_;
  const TilePart part_;
  const Rows rows_;
  const unsigned stride_;  // of the matrix, unless it is transposed
  const Factor<T>* factor_;
  unsigned left_in_chunk_;       // terms, in later factors
  unsigned inner_, done_, end_;  // of the factor: terms, those done, end of the chunk's
  const T* matrix_;
  const T* column_[Tile::right_loads];
  T left_[Tile::left_loads][kVector<T>], right_[Tile::right_loads][kVector<T>];
};

/// Tiles for few columns. Each warp has tiles for one chunk, and only synchronises at the end.
template <class T>
struct WarpTiles;
template <>
struct WarpTiles<float> {
  using Small = Tile<float, 32, 16, 16, 4, 4>;
  using Tiny = Tile<float, 16, 8, 32, 4, 1>;
};
template <>
struct WarpTiles<double> {
  using Small = Tile<double, 32, 16, 8, 4, 4>;
  using Tiny = Tile<double, 16, 8, 16, 4, 1>;
};

/// Shared memory for the tiles of all warps of a block. There is one for each type of numbers,
/// which all sizes of tiles use, so that a kernel with several sizes does not need them side by
/// side.
constexpr std::size_t kWarpTileBytes = 33792;
template <class T>
__device__ Vector<T>* warp_tiles() {
  SHARED_ARRAY(Vector<T>, tiles, kWarpTileBytes / sizeof(Vector<T>));
  return tiles;
}

/// The sums of the chunks of a tile, in shared memory, column by column. Each warp (threadIdx.y)
/// computes one chunk.
template <class Tile, bool kTransposed>
class ChunkSums {
  using T = typename Tile::Element;
  static_assert(Tile::threads == kWarp);
  static constexpr unsigned kSize = Tile::rows * Tile::columns;
  static constexpr unsigned kLeft = 2 * Tile::left_vectors, kRight = 2 * Tile::right_vectors;
  static_assert(kSize <= kLeft * kVector<T>);
  static_assert(kMostChunks * (kLeft + kRight) * sizeof(Vector<T>) <= kWarpTileBytes);

 public:
  /// Called by all threads of the block. The threads of warp 0 always have a tile.
  template <class Rows>
  __device__ void compute(const GatheredProduct<T>& product, const Factor<T>* factors,
                          const TilePart& part, const Rows& rows) {
    Vector<T>*const left_tiles = warp_tiles<T>(), *const right_tiles =
                                                      left_tiles + kMostChunks * kLeft;
    const Chunks chunks(product.terms);
    const unsigned chunk = threadIdx.y;
    count_ = chunks.count;
    sums_ = reinterpret_cast<T*>(left_tiles);
    Accumulators<Tile> results;
    if (chunk < count_) {
      Loader<Tile, kTransposed, Rows> loader(product, factors, part, rows, chunks.begin(chunk),
                                             chunks.end(chunk));
      multiply_all(results, loader, left_tiles + chunk * kLeft, right_tiles + chunk * kRight);
    }
    __syncthreads();
    if (chunk < count_) {
      results.for_groups([&](unsigned row, unsigned column, const T* group) {
        T* const to = sums_ + chunk * kSize + column * Tile::rows + row;
        for (unsigned i = 0; i < Tile::group_rows; ++i) to[i] = group[i];
      });
    }
    __syncthreads();
  }

  __device__ T at(unsigned line, unsigned column) const {
    const T* const from = sums_ + column * Tile::rows + line;
    T sum = from[0];
    for (unsigned c = 1; c < count_; ++c) sum = sum + from[c * kSize];
    return sum;
  }

 private:
  unsigned count_;
  T* sums_;
};

}  // namespace dynet_like::detail::cuda
