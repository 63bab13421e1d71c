// Products of matrices with columns that lie anywhere, several of them in one launch.
#pragma once

#include <vector>

#include "dynet_like/device/cuda/items.h"

namespace dynet_like::detail::cuda {

/// A matrix and what it is multiplied with, one of those whose products are added up; `inner` is
/// the number of terms. Matrices lie column by column; so do right sides of several columns.
template <class T>
struct Factor {
  Places<T> matrix, right;
  unsigned inner = 0;
};

/// result = (W1 x1 + W2 x2 + ...) + bias for every item, or the same with W1', ...
template <class T>
struct GatheredProduct {
  unsigned rows = 0, columns = 1, items = 0;  ///< of the result; columns of one item

  bool has_bias = false;
  Places<T> bias;
  unsigned bias_columns = 1;  ///< 1, or as many as the result has

  /// Results of items lie one behind the other from `out` on, or go to places of their own: if
  /// there are no flags, that is where sums of chunks go, too.
  T* out = nullptr;
  Destination to;

  // Set by GatheredProducts.
  unsigned first_factor = 0, factor_count = 0, terms = 0;
  bool is_joined = true;  ///< all items have the same matrices, and their columns are one product
  unsigned first_block = 0, row_tiles = 0, column_tiles = 0;
  T* partial = nullptr;  ///< if there are flags: sums of first chunks, one item behind the other
};

/// Tiles for few, some and many columns.
enum class TileSize : std::uint8_t { tiny, small, medium, large };

/// Products that do not depend on each other. Every element of a result is a sum over the columns
/// of all its matrices, from the first to the last: chains of fused multiply-adds, up to four of
/// equal length, whose sums are added in order, and then the bias. How many follows from the number
/// of terms alone, so that the bits do not depend on what it is computed with.
template <class T>
class GatheredProducts {
 public:
  void add(GatheredProduct<T> product, const std::vector<Factor<T>>& factors);
  /// Launches one kernel, if there is anything to do. `transposed`: matrices are read as their
  /// transposes.
  void launch(Commands& commands, bool transposed);

  std::size_t size() const { return products_.size(); }
  /// Whether every matrix is that of all items.
  bool all_joined() const;
  TileSize tile_size();
  /// For a kernel that computes each chunk in a warp: numbers the blocks, each with `rows` x
  /// `columns` results.
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
