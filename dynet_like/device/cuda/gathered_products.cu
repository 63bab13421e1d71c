// The tiled kernels of products with scattered columns.
//
// Shared memory has a tile of the matrix and one of the right sides, twice: while one pair is
// multiplied, the next one is being loaded into registers. For many columns a block of four warps
// computes a large tile, chunk by chunk. For few columns each warp computes a chunk of a small
// tile.
#include <algorithm>

#include "dynet_like/device/cuda/tensor_tile.h"
#include "dynet_like/device/cuda/warp_products.h"

namespace dynet_like::detail::cuda {

namespace {

template <class T>
struct BlockTiles;
template <>
struct BlockTiles<float> {
  using Large = Tile<float, 128, 64, 16, 8, 8>;
  using Medium = Tile<float, 64, 32, 32, 4, 4>;
};
template <>
struct BlockTiles<double> {
  using Large = Tile<double, 64, 64, 8, 8, 4>;
  using Medium = Tile<double, 64, 32, 16, 4, 4>;
};

// A tile size is used only if there are so many tiles, which keep the multiprocessors busy.
constexpr std::size_t kEnoughBlocks = 128;
// Tiny tiles are used up to this number of blocks, where latency dominates.
constexpr std::size_t kMostTinyBlocks = 264;

template <class Tile, class T>
__device__ void finish_chunk(Accumulators<Tile>& results, const GatheredProduct<T>& product,
                             bool first, bool last) {
  const TilePart part = tile_part_of<Tile>(product);  // computed again to save registers
  results.for_groups([&](unsigned row, unsigned column, T* group) {
    if (row >= part.rows || column >= part.columns) return;
    const ResultPlace<T> place(product, part, row, column);
    if (place.to == nullptr) return;
    const unsigned count = part.rows - row;
    const auto add = [&](const T* from) {
      T there[Tile::group_rows];
      get_vector<Tile::group_rows>(from, count, there);
      for (unsigned i = 0; i < Tile::group_rows; ++i) group[i] = there[i] + group[i];
    };
    if (!first) add(place.partial);
    if (!last) return put_vector<Tile::group_rows>(group, place.partial, count);
    if (place.bias != nullptr) add(place.bias);
    if (place.add) add(place.to);
    put_vector<Tile::group_rows>(group, place.to, count);
  });
}

template <class Tile, bool kTransposed, class T>
__global__ void __launch_bounds__(Tile::threads, Tile::blocks_at_once)
    multiply_in_blocks(const GatheredProduct<T>* products, unsigned count,
                       const Factor<T>* factors) {
  SHARED_ARRAY(Vector<T>, left_tiles, 2 * Tile::left_vectors);
  SHARED_ARRAY(Vector<T>, right_tiles, 2 * Tile::right_vectors);
  wait_for_earlier();
  const GatheredProduct<T>& product = product_of_block(products, count);
  const unsigned length = Chunks(product.terms).length;
  for (unsigned begin = 0;; begin += length) {
    const unsigned terms = product.terms;
    const bool last = terms - begin <= length;
    const TilePart part = tile_part_of<Tile>(product);
    Accumulators<Tile> results;
    Loader<Tile, kTransposed, RowsInOrder> loader(product, factors, part, RowsInOrder{part}, begin,
                                                  last ? terms : begin + length);
    multiply_all(results, loader, left_tiles, right_tiles);
    finish_chunk(results, product, begin == 0, last);
    if (last) break;
    __syncthreads();  // the tiles have been read
  }
}

template <class T>
using ForwardSteps = Together<WarpProducts<typename WarpTiles<T>::Small, false, T>,
                              WarpProducts<typename WarpTiles<T>::Tiny, false, T>>;

}  // namespace

template <class T>
void GatheredProducts<T>::add(GatheredProduct<T> product, const std::vector<Factor<T>>& factors) {
  if (product.rows == 0 || product.columns == 0 || product.items == 0) return;
  product.first_factor = static_cast<unsigned>(factors_.size());
  product.factor_count = static_cast<unsigned>(factors.size());
  for (const Factor<T>& factor : factors) {
    product.is_joined = product.is_joined && factor.matrix.is_shared();
    product.terms += factor.inner;
  }
  factors_.insert(factors_.end(), factors.begin(), factors.end());
  products_.push_back(product);
}

template <class T>
std::size_t GatheredProducts<T>::place_blocks(unsigned rows, unsigned columns) {
  std::size_t blocks = 0;
  for (GatheredProduct<T>& product : products_) {
    const std::size_t groups = product.is_joined ? 1 : product.items;
    const std::size_t all_columns = std::size_t{product.columns} * product.items / groups;
    product.first_block = launch_size(blocks);
    product.row_tiles = static_cast<unsigned>(ceil_divide(product.rows, rows));
    product.column_tiles = static_cast<unsigned>(ceil_divide(launch_size(all_columns), columns));
    blocks += std::size_t{product.row_tiles} * product.column_tiles * groups;
  }
  return blocks;
}

template <class T>
bool GatheredProducts<T>::all_joined() const {
  return std::all_of(products_.begin(), products_.end(),
                     [](const GatheredProduct<T>& product) { return product.is_joined; });
}

template <class T>
Shape GatheredProducts<T>::shape_in_warps(Commands& commands, unsigned rows, unsigned columns) {
  unsigned chunks = 1, terms = 0;
  for (const GatheredProduct<T>& product : products_) {
    const Chunks own(product.terms);
    chunks = std::max(chunks, own.count);
    terms = std::max(terms, own.length);
  }
  commands.count_terms(terms);
  return early({launch_size(place_blocks(rows, columns)), 1, 1, kWarp, chunks});
}

template <class T>
TileSize GatheredProducts<T>::tile_size() {
  if (place_blocks<typename BlockTiles<T>::Large>() >= kEnoughBlocks) return TileSize::large;
  if (place_blocks<typename BlockTiles<T>::Medium>() >= kEnoughBlocks) return TileSize::medium;
  const bool few = place_blocks<typename WarpTiles<T>::Tiny>() <= kMostTinyBlocks;
  return few ? TileSize::tiny : TileSize::small;
}

template <class T>
template <class Tile>
void GatheredProducts<T>::launch_tiles(Commands& commands, bool transposed) {
  unsigned terms = 0;
  for (GatheredProduct<T>& product : products_) {
    terms = std::max(terms, product.terms);
    if (product.to.add == nullptr || Chunks(product.terms).count == 1) continue;
    const std::size_t size = std::size_t{product.rows} * product.columns;
    product.partial = commands.elements<T>(size * product.items);
  }
  commands.count_terms(terms);
  const Shape shape = early({launch_size(place_blocks<Tile>()), 1, 1, Tile::threads});
  commands.launch_cooperating(
      shape, transposed ? multiply_in_blocks<Tile, true, T> : multiply_in_blocks<Tile, false, T>,
      stage_products(commands), static_cast<unsigned>(products_.size()), stage_factors(commands));
}

template <class T>
template <class Tile>
void GatheredProducts<T>::launch_warp_tiles(Commands& commands, bool transposed) {
  const Shape shape = shape_in_warps(commands, Tile::rows, Tile::columns);
  const auto work = [&]<bool kTransposed>() {
    return WarpProducts<Tile, kTransposed, T>{
        stage_products(commands), static_cast<unsigned>(products_.size()), stage_factors(commands)};
  };
  if (transposed) return add_product_step(commands, shape, work.template operator()<true>());
  add_step(commands, ForwardSteps<T>(), shape, work.template operator()<false>());
}

template <class T>
void GatheredProducts<T>::launch_large(Commands& commands, bool transposed) {
  if constexpr (std::is_same_v<T, float>) {
    if (commands.large_products() == LargeProducts::tf32) {
      return launch_tiles<TensorTile>(commands, transposed);
    }
  }
  launch_tiles<typename BlockTiles<T>::Large>(commands, transposed);
}

template <class T>
void GatheredProducts<T>::launch(Commands& commands, bool transposed) {
  if (products_.empty()) return;
  switch (tile_size()) {
    case TileSize::tiny:
      return launch_warp_tiles<typename WarpTiles<T>::Tiny>(commands, transposed);
    case TileSize::small:
      return launch_warp_tiles<typename WarpTiles<T>::Small>(commands, transposed);
    case TileSize::medium:
      return launch_tiles<typename BlockTiles<T>::Medium>(commands, transposed);
    case TileSize::large:
      return launch_large(commands, transposed);
  }
}

template class GatheredProducts<float>;
template class GatheredProducts<double>;

}  // namespace dynet_like::detail::cuda
