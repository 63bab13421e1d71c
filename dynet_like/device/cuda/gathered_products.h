// Products of matrices with scattered columns, several products in one launch.
#pragma once

#include <vector>

#include "dynet_like/device/cuda/items.h"

namespace dynet_like::detail::cuda {

/// A matrix and its right sides: one of several factors whose products are summed. `inner` is the
/// number of terms. Matrices lie column by column, and so do right sides with several columns.
template <class T>
struct Factor {
  Places<T> matrix, right;
  unsigned inner = 0;
};

/// result = (W1 x1 + W2 x2 + ...) + bias for every item, or the same with W1', W2', ...
template <class T>
struct GatheredProduct {
  unsigned rows = 0, columns = 1, items = 0;  ///< of the result; columns of one item

  bool has_bias = false;
  Places<T> bias;
  unsigned bias_columns = 1;  ///< 1, or as many as the result has

  /// The results of items lie one behind the other from `out` on, or each has a place in `to`. If
  /// `to` has no `add` flags, sums of chunks are stored there, too.
  T* out = nullptr;
  Destination to;

  // Set by GatheredProducts.
  unsigned first_factor = 0, factor_count = 0, terms = 0;
  bool is_joined = true;  ///< all items share their matrices, and their columns form one product
  unsigned first_block = 0, row_tiles = 0, column_tiles = 0;
  T* partial = nullptr;  ///< if there are flags: sums of first chunks, item by item
};

/// Tiles for few, some and many columns.
enum class TileSize : std::uint8_t { tiny, small, medium, large };

/// Products that do not depend on each other. Every element of a result is a sum over the columns
/// of all its matrices, from the first to the last. It is made of up to four chains of fused
/// multiply-adds of equal length, whose sums are added in order, and then the bias. The number of
/// chains depends only on the number of terms, so that the bits do not depend on the batch.
template <class T>
class GatheredProducts {
 public:
  void add(GatheredProduct<T> product, const std::vector<Factor<T>>& factors);
  /// Launches one kernel, if there is anything to do. `transposed`: multiplies by transposes.
  void launch(Commands& commands, bool transposed);

  std::size_t size() const { return products_.size(); }
  /// Whether every matrix is shared by all items.
  bool all_joined() const;
  TileSize tile_size();
  /// For a kernel that computes each chunk in a warp: numbers the blocks, each of which has `rows`
  /// x `columns` results.
  Shape shape_in_warps(Commands& commands, unsigned rows, unsigned columns);
  const GatheredProduct<T>* stage_products(Commands& commands) const {
    return commands.stage(products_.data(), products_.size());
  }
  const Factor<T>* stage_factors(Commands& commands) const {
    return commands.stage(factors_.data(), factors_.size());
  }

 private:
  std::size_t place_blocks(unsigned rows, unsigned columns);
  template <class Tile>
  std::size_t place_blocks() {
    return place_blocks(Tile::rows, Tile::columns);
  }
  template <class Tile>
  void launch_tiles(Commands& commands, bool transposed);
  template <class Tile>
  void launch_warp_tiles(Commands& commands, bool transposed);
  void launch_large(Commands& commands, bool transposed);

  std::vector<Factor<T>> factors_;
  std::vector<GatheredProduct<T>> products_;
};

extern template class GatheredProducts<float>;
extern template class GatheredProducts<double>;

}  // namespace dynet_like::detail::cuda
