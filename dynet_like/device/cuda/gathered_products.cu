// The tiled kernel of products with columns that lie anywhere.
//
// A tile of the matrix and one of the right sides are in shared memory, twice: while one pair is
// multiplied the next is on its way in registers. Tiles of all sizes compute the same bits.
#include "dynet_like/device/cuda/gathered_products.h"

#include "dynet_like/device/cuda/tile.h"

namespace dynet_like::detail::cuda {

namespace {

// Tiles for many, some and few columns. Small ones bring much at once, since few threads have
// little else to do while they wait. A tiny one is a single warp, for what it can bring at once.
template <class T>
struct Tiles;
template <>
struct Tiles<float> {
  using Large = Tile<float, 128, 64, 16, 8, 8>;
  using Medium = Tile<float, 64, 32, 32, 4, 4>;
  using Small = Tile<float, 32, 16, 64, 4, 1>;
  using Tiny = Tile<float, 16, 8, 32, 4, 1>;
};
template <>
struct Tiles<double> {
  using Large = Tile<double, 64, 64, 8, 8, 4>;
  using Medium = Tile<double, 64, 32, 16, 4, 4>;
  using Small = Tile<double, 32, 16, 32, 4, 1>;
  using Tiny = Tile<double, 16, 8, 32, 4, 1>;
};

// A tile is large enough for the device's multiprocessors only if there are so many of them.
constexpr std::size_t kEnoughBlocks = 128;
// Tiny tiles are for no more than this.
constexpr std::size_t kMostTinyBlocks = 64;

// The part of a product that a block computes.
struct TilePart {
  unsigned row, column, rows, columns, first_item;
};

template <class T, class Tile>
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

// Item and column in it of a column of the part.
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

// Brings the tiles of both sides to shared memory, those of all factors one after the other.
template <class Tile, bool kTransposed>
class Loader {
  using T = typename Tile::Element;

 public:
  __device__ Loader(const GatheredProduct<T>& product, const Factor<T>* factors,
                    const TilePart& part)
      : product_(product),
        part_(part),
        stride_(product.rows),
        factor_(factors + product.first_factor),
        end_(factor_ + product.factor_count) {
    begin_factor();
    load();
  }

  /// Terms of the tiles that were loaded last.
  __device__ unsigned terms() const {
    const unsigned left = inner_ - done_;
    return left < Tile::depth ? left : Tile::depth;
  }
  /// Begins to load the next tiles, if there are any.
  __device__ bool load_next() {
    done_ += Tile::depth;
    if (done_ >= inner_) {
      if (++factor_ == end_) return false;
      begin_factor();
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

  __device__ void begin_factor() {
    inner_ = factor_->inner;
    done_ = 0;
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
      const unsigned row = part_.row + place.line, term = done_ + place.term;
      if constexpr (kTransposed) {
        const unsigned count = place.line < part_.rows ? difference(inner_, term) : 0;
        load_vector(matrix_ + std::size_t{row} * inner_ + term, count, left_[i]);
      } else {
        const unsigned count = term < inner_ ? difference(part_.rows, place.line) : 0;
        load_vector(matrix_ + std::size_t{term} * stride_ + row, count, left_[i]);
      }
    }
    for (unsigned i = 0; i < Tile::right_loads; ++i) {
      const unsigned term = done_ + right_place(i).term;
      const unsigned count = column_[i] == nullptr ? 0 : difference(inner_, term);
      load_vector(count == 0 ? nullptr : column_[i] + term, count, right_[i]);
    }
  }

  const GatheredProduct<T>& product_;
  const TilePart part_;
  const unsigned stride_;  // of the matrix, unless it is transposed
  const Factor<T>* factor_;
  const Factor<T>* const end_;
  unsigned inner_, done_;
  const T* matrix_;
  const T* column_[Tile::right_loads];
  T left_[Tile::left_loads][kVector<T>], right_[Tile::right_loads][kVector<T>];
};

// Adds the bias and puts results where they belong.
template <class Tile, class T>
__device__ void finish(Accumulators<Tile>& results, const GatheredProduct<T>& product,
                       const TilePart& part) {
  results.for_groups([&](unsigned row, unsigned column, T* group) {
    if (row >= part.rows || column >= part.columns) return;
    const ColumnPlace place = place_of(product, part, column);
    const std::size_t at = std::size_t{place.column} * product.rows + part.row + row;
    const unsigned left = part.rows - row;
    if (product.has_bias) {
      const T* bias = product.bias.at(place.item);
      bias += product.bias_columns == 1 ? part.row + row : at;
      for (unsigned i = 0; i < Tile::group_rows; ++i) {
        if (i < left) group[i] = group[i] + *global(bias + i);
      }
    }
    T* to;
    bool add = false;
    if (product.out != nullptr) {
      to = product.out + std::size_t{place.item} * product.rows * product.columns;
    } else {
      to = product.to.template at<T>(place.item);
      if (to == nullptr) return;
      add = product.to.add[place.item] != 0;
    }
    put_vector<Tile::group_rows>(group, to + at, left, add);
  });
}

template <class Tile, bool kTransposed, class T>
__global__ void __launch_bounds__(Tile::threads, Tile::blocks_at_once)
    multiply_gathered(const GatheredProduct<T>* products, unsigned count,
                      const Factor<T>* factors) {
  SHARED_ARRAY(Vector<T>, left_tiles, 2 * Tile::left_vectors);
  SHARED_ARRAY(Vector<T>, right_tiles, 2 * Tile::right_vectors);
  T* const left = reinterpret_cast<T*>(left_tiles);
  T* const right = reinterpret_cast<T*>(right_tiles);
  unsigned p = count - 1;
  while (products[p].first_block > blockIdx.x) --p;
  const GatheredProduct<T>& product = products[p];
  const TilePart part = tile_part_of<T, Tile>(product);
  Accumulators<Tile> results;
  Loader<Tile, kTransposed> loader(product, factors, part);
  results.multiply_all(loader, left, right);
  finish(results, product, part);
}

}  // namespace

template <class T>
void GatheredProducts<T>::add(GatheredProduct<T> product, const std::vector<Factor<T>>& factors) {
  if (product.rows == 0 || product.columns == 0 || product.items == 0) return;
  product.first_factor = static_cast<unsigned>(factors_.size());
  product.factor_count = static_cast<unsigned>(factors.size());
  for (const Factor<T>& factor : factors) {
    product.is_joined = product.is_joined && factor.matrix.is_shared();
  }
  factors_.insert(factors_.end(), factors.begin(), factors.end());
  products_.push_back(product);
}

// Numbers the blocks and returns how many there are.
template <class T>
template <class Tile>
std::size_t GatheredProducts<T>::place_blocks() {
  std::size_t blocks = 0;
  for (GatheredProduct<T>& product : products_) {
    const std::size_t groups = product.is_joined ? 1 : product.items;
    const std::size_t columns = std::size_t{product.columns} * product.items / groups;
    product.first_block = launch_size(blocks);
    product.row_tiles = static_cast<unsigned>(ceil_divide(product.rows, Tile::rows));
    product.column_tiles = static_cast<unsigned>(ceil_divide(launch_size(columns), Tile::columns));
    blocks += std::size_t{product.row_tiles} * product.column_tiles * groups;
  }
  return blocks;
}

template <class T>
template <class Tile>
void GatheredProducts<T>::launch_tiles(Commands& commands, bool transposed) {
  const Shape shape{launch_size(place_blocks<Tile>()), 1, 1, Tile::threads};
  const auto count = static_cast<unsigned>(products_.size());
  commands.launch_cooperating(
      shape, transposed ? multiply_gathered<Tile, true, T> : multiply_gathered<Tile, false, T>,
      commands.stage(products_.data(), count), count,
      commands.stage(factors_.data(), factors_.size()));
}

template <class T>
void GatheredProducts<T>::launch(Commands& commands, bool transposed) {
  if (products_.empty()) return;
  using Tiny = typename Tiles<T>::Tiny;
  bool is_short = true;
  for (const Factor<T>& factor : factors_) is_short = is_short && factor.inner <= Tiny::depth;
  if (is_short && place_blocks<Tiny>() <= kMostTinyBlocks) {
    launch_tiles<Tiny>(commands, transposed);
  } else if (place_blocks<typename Tiles<T>::Large>() >= kEnoughBlocks) {
    launch_tiles<typename Tiles<T>::Large>(commands, transposed);
  } else if (place_blocks<typename Tiles<T>::Medium>() >= kEnoughBlocks) {
    launch_tiles<typename Tiles<T>::Medium>(commands, transposed);
  } else {
    launch_tiles<typename Tiles<T>::Small>(commands, transposed);
  }
}

template class GatheredProducts<float>;
template class GatheredProducts<double>;

}  // namespace dynet_like::detail::cuda
