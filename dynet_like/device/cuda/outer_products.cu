// Sums of outer products, the gradients of weights: a tiled product over the addends. With few
// addends each element is one chain.
//
// If a sum has too few elements to keep a device busy, separate blocks sum chunks of addends, and
// the sums of chunks are added in order. Chunks depend only on the shape and the number of addends.
#include <algorithm>

#include "dynet_like/device/cuda/items.h"
#include "dynet_like/device/cuda/tensor_tile.h"

namespace dynet_like::detail::cuda {

namespace {

template <class T>
using OuterTile = Tile<T, 64, 64, 4 * kVector<T>, 8, 4>;

// Twice as many blocks as there are multiprocessors are enough. A block with fewer addends than
// this spends too much of its time on beginning and ending.
constexpr std::size_t kEnoughBlocks = 264, kShortestChunk = 64;
// So many addends are one chunk, whatever the shape: a small batch then has the same bits as its
// items one after the other.
constexpr std::size_t kOneChunk = 256;

// The addends of a block, and the first row and column of its part of the sum.
struct OuterBlock {
  std::size_t first, end;
  unsigned row, column, chunk;
};

// Loads the tiles of the next addends into shared memory.
template <class Tile>
class OuterLoader {
  using T = typename Tile::Element;

 public:
  __device__ OuterLoader(const void* const* dy, const void* const* x, const OuterBlock& block,
                         unsigned rows, unsigned columns)
      : dy_(dy),
        x_(x),
        block_(block),
        rows_(rows - block.row),
        columns_(columns - block.column),
        done_(block.first) {
    load();
  }
  __device__ unsigned terms() const {
    const std::size_t left = block_.end - done_;
    return left < Tile::depth ? static_cast<unsigned>(left) : Tile::depth;
  }
  __device__ bool load_next() {
    done_ += Tile::depth;
    if (done_ >= block_.end) return false;
    load();
    return true;
  }
  __device__ void store(T* left, T* right) const {
    for (unsigned i = 0; i < Tile::left_loads; ++i) {
      store_along_lines(left_[i], left, Tile::left_stride, left_place(i));
    }
    for (unsigned i = 0; i < Tile::right_loads; ++i) {
      store_along_lines(right_[i], right, Tile::right_stride, right_place(i));
    }
  }

 private:
  __device__ static TilePlace left_place(unsigned load) {
    return place_along_lines<T, Tile::rows>(load, Tile::threads);
  }
  __device__ static TilePlace right_place(unsigned load) {
    return place_along_lines<T, Tile::columns>(load, Tile::threads);
  }
  __device__ void load_one(const void* const* list, TilePlace place, unsigned first, unsigned lines,
                           T* to) const {
    const std::size_t addend = done_ + place.term;
    const T* from = nullptr;
    unsigned count = 0;
    if (addend < block_.end && place.line < lines) {
      from = static_cast<const T*>(list[addend]) + first + place.line;
      count = lines - place.line;
    }
    load_vector(from, count, to);
  }
  __device__ void load() {
    for (unsigned i = 0; i < Tile::left_loads; ++i) {
      load_one(dy_, left_place(i), block_.row, rows_, left_[i]);
    }
    for (unsigned i = 0; i < Tile::right_loads; ++i) {
      load_one(x_, right_place(i), block_.column, columns_, right_[i]);
    }
  }

  const void *const *dy_, *const *x_;
  const OuterBlock block_;
  const unsigned rows_, columns_;
  std::size_t done_;
  T left_[Tile::left_loads][kVector<T>], right_[Tile::right_loads][kVector<T>];
};

// The sum of chunk c goes to sums + c * rows * columns. `add`: a chain begins with the old
// contents, so that it does not depend on the number of calls that it is split into.
template <class Tile, class T>
__global__ void __launch_bounds__(Tile::threads, Tile::blocks_at_once)
    outer_products(T* sums, unsigned rows, unsigned columns, const void* const* dy,
                   const void* const* x, std::size_t n, std::size_t chunk_length, bool add) {
  SHARED_ARRAY(Vector<T>, left_tiles, 2 * Tile::left_vectors);
  SHARED_ARRAY(Vector<T>, right_tiles, 2 * Tile::right_vectors);
  wait_for_earlier();
  const unsigned row_tiles = (rows + Tile::rows - 1) / Tile::rows;
  const unsigned column_tiles = (columns + Tile::columns - 1) / Tile::columns;
  const unsigned rest = blockIdx.x / row_tiles;
  OuterBlock block;
  block.row = blockIdx.x % row_tiles * Tile::rows;
  block.column = rest % column_tiles * Tile::columns;
  block.chunk = rest / column_tiles;
  block.first = block.chunk * chunk_length;
  block.end = n - block.first < chunk_length ? n : block.first + chunk_length;

  T* const to = sums + std::size_t{rows} * columns * block.chunk;
  // Calls f(results, place, count) for every group of results that the sum has.
  Accumulators<Tile> results;
  const auto for_groups = [&](const auto& f) {
    results.for_groups([&](unsigned row, unsigned column, T* group) {
      row += block.row;
      column += block.column;
      if (row >= rows || column >= columns) return;
      f(group, to + std::size_t{column} * rows + row, rows - row);
    });
  };
  if (add) {
    for_groups([](T* group, const T* from, unsigned count) {
      get_vector<Tile::group_rows>(from, count, group);
    });
  }
  OuterLoader<Tile> loader(dy, x, block, rows, columns);
  multiply_all(results, loader, left_tiles, right_tiles);
  for_groups([](const T* group, T* place, unsigned count) {
    put_vector<Tile::group_rows>(group, place, count);
  });
}

template <class T>
__global__ void gather(Part part, const void* const* items, T* to) {
  Place place;
  if (!find_element(part, place)) return;
  to[place.item * part.size + place.at] = static_cast<const T*>(items[place.item])[place.at];
}

template <class T>
void multiply_by_library(Commands& commands, const OuterProducts& call) {
  const std::size_t n = call.addends.n;
  const auto gathered = [&](const void* const* items, std::size_t size) {
    T* const to = commands.elements<T>(n * size);
    launch_elements(commands, n, size, gather<T>, commands.stage(items, n), to);
    return to;
  };
  LibraryProduct product;
  product.dtype = std::is_same_v<T, float> ? DType::f32 : DType::f64;
  product.rows = product.a_stride = product.c_stride = call.rows;
  product.columns = product.b_stride = call.columns;
  product.inner = n;
  product.a = gathered(call.addends.dy, call.rows);
  product.b = gathered(call.addends.x, call.columns);
  product.b_transposed = true;
  product.c = call.sum;
  product.beta = call.fresh ? 0 : 1;
  commands.multiply(product);
}

template <class Tile>
void launch_tiles(Commands& commands, DType dtype, const OuterProducts& call) {
  using T = typename Tile::Element;
  const std::size_t n = call.addends.n, size = call.rows * call.columns;
  const std::size_t tiles =
      ceil_divide(call.rows, Tile::rows) * ceil_divide(call.columns, Tile::columns);
  const std::size_t wanted =
      n <= kOneChunk ? 1
                     : std::min(ceil_divide(kEnoughBlocks, tiles), ceil_divide(n, kShortestChunk));
  const std::size_t length = ceil_divide(ceil_divide(n, wanted), Tile::depth) * Tile::depth;
  const std::size_t chunks = ceil_divide(n, length);

  commands.count_terms(std::min(n, length));
  T* const sum = static_cast<T*>(call.sum);
  T* const to = chunks == 1 ? sum : commands.elements<T>(chunks * size);
  commands.launch_cooperating(early({launch_size(tiles * chunks), 1, 1, Tile::threads}),
                              outer_products<Tile, T>, to, call.rows, call.columns,
                              commands.stage(call.addends.dy, n), commands.stage(call.addends.x, n),
                              n, length, chunks == 1 && !call.fresh);
  if (chunks == 1) return;
  std::vector<const void*> sums(chunks);
  for (std::size_t c = 0; c < chunks; ++c) sums[c] = to + c * size;
  const SumSegment segment{sum, size, 0, chunks, call.fresh ? SumStart::first : SumStart::there};
  launch_sums(commands, dtype, {&segment, 1}, sums);
}

template <class T>
void launch(Commands& commands, DType dtype, const OuterProducts& call) {
  if (call.addends.n * call.rows * call.columns >= kLargeOuterProducts) {
    const LargeProducts how = commands.large_products();
    if (how == LargeProducts::library) return multiply_by_library<T>(commands, call);
    if constexpr (std::is_same_v<T, float>) {
      if (how == LargeProducts::tf32) return launch_tiles<TensorTile>(commands, dtype, call);
    }
  }
  launch_tiles<OuterTile<T>>(commands, dtype, call);
}

}  // namespace

void launch_outer_products(Commands& commands, DType dtype, const OuterProducts& call) {
  const std::size_t size = call.rows * call.columns;
  if (size == 0) return;
  if (call.addends.n == 0) {
    if (call.fresh) commands.zero(call.sum, size * size_of(dtype));
    return;
  }
  dtype == DType::f32 ? launch<float>(commands, dtype, call)
                      : launch<double>(commands, dtype, call);
}

}  // namespace dynet_like::detail::cuda
