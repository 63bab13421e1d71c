// Products of few columns as works: they share launches with what stands before and after them.
#pragma once

#include "dynet_like/device/cuda/gathered_tiles.h"
#include "dynet_like/device/cuda/steps.h"

namespace dynet_like::detail::cuda {

/// Where a result goes, and what is added to it: first the bias, then the old contents.
template <class T>
struct ResultPlace {
  T* to = nullptr;  // null if it is not wanted
  T* partial = nullptr;
  const T* bias = nullptr;
  bool add = false;

  __device__ ResultPlace(const GatheredProduct<T>& product, const TilePart& part, unsigned row,
                         unsigned column) {
    const ColumnPlace place = place_of(product, part, column);
    const std::size_t at = std::size_t{place.column} * product.rows + part.row + row;
    const std::size_t in_block = std::size_t{place.item} * product.rows * product.columns + at;
    if (product.out != nullptr) {
      to = partial = product.out + in_block;
    } else {
      to = product.to.template at<T>(place.item);
      if (to == nullptr) return;
      to = partial = to + at;
      if (product.to.add != nullptr) {
        partial = product.partial + in_block;
        add = product.to.add[place.item] != 0;
      }
    }
    if (!product.has_bias) return;
    bias = product.bias.at(place.item) + (product.bias_columns == 1 ? part.row + row : at);
  }
};

/// The product that a block computes.
template <class T>
__device__ const GatheredProduct<T>& product_of_block(const GatheredProduct<T>* products,
                                                      unsigned count) {
  unsigned p = count - 1;
  while (products[p].first_block > blockIdx.x) --p;
  return products[p];
}

/// Each warp of a block computes a chunk of the block's tile.
template <class Tile, bool kTransposed, class T>
struct WarpProducts {
  static constexpr unsigned blocks_at_once = Tile::blocks_at_once;
  static constexpr bool cooperates = true;

  const GatheredProduct<T>* products;
  unsigned count;
  const Factor<T>* factors;

  __device__ void run() const {
    const GatheredProduct<T>& product = product_of_block(global(products), count);
    const TilePart part = tile_part_of<Tile>(product);
    ChunkSums<Tile, kTransposed> sums;
    sums.compute(product, global(factors), part, RowsInOrder{part});
    const unsigned threads = blockDim.x * blockDim.y;
    for (unsigned i = threadIdx.y * blockDim.x + threadIdx.x; i < Tile::rows * Tile::columns;
         i += threads) {
      const unsigned row = i % Tile::rows, column = i / Tile::rows;
      if (row >= part.rows || column >= part.columns) continue;
      const ResultPlace<T> place(product, part, row, column);
      if (place.to == nullptr) continue;
      T sum = sums.at(row, column);
      if (place.bias != nullptr) sum = *place.bias + sum;
      put(sum, place.to, place.add);
    }
  }
};

/// Adds a product of transposes. It can share a launch with gradients of cells, so cells.cu has
/// their kernel.
template <class Tile, class T>
void add_product_step(Commands& commands, const Shape& shape,
                      const WarpProducts<Tile, true, T>& work);

}  // namespace dynet_like::detail::cuda
