// Kernels of ops: LSTM and GRU cells. The products of all gates are one launch, the pointwise part
// is another one. For few columns both are one step, and levels of a recursion can share a launch.
#include <bit>

#include "dynet_like/device/cuda/affine.h"
#include "dynet_like/device/cuda/deferred.h"
#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/warp_products.h"
#include "dynet_like/ops/elementwise.h"

namespace dynet_like::detail::cuda {

namespace {

// One element of the vectors of a cell.
struct Here {
  std::size_t at;

  template <class T>
  __device__ T load(const T* from) const {
    return from[at];
  }
  template <class T>
  __device__ void store(T x, T* to) const {
    to[at] = x;
  }
  template <class T>
  __device__ void put(T x, T* to, bool add) const {
    cuda::put(x, to + at, add);
  }
};

// The formulas over plain numbers.
using formulas::fused, formulas::sigmoid, formulas::tanh;
#define LANE __device__ inline
#include "dynet_like/device/cell_formulas.h"
#undef LANE

// For few columns: the block that has summed the gates of some elements computes these elements.
template <class Tile, class T>
struct BlockOfGates {
  TilePart part;
  RowsOfGates rows;

  __device__ BlockOfGates(const GatheredProduct<T>& product, unsigned hidden, unsigned gates,
                          unsigned shift)
      : part(tile_part_of<Tile>(product)) {
    part.row = (blockIdx.x % product.row_tiles) << shift;
    part.rows = hidden - part.row;
    rows = {part.row, part.rows, gates, shift, hidden};
    first_item_ = part.first_item + part.column;
  }
  __device__ unsigned line(unsigned gate, unsigned e) const { return (gate << rows.shift) + e; }
  __device__ T bias(const GatheredProduct<T>& product, std::size_t item, unsigned gate,
                    unsigned e) const {
    return product.bias.at(item)[gate * rows.hidden + part.row + e];
  }
  /// Calls f(element, column, item) for the elements of this thread.
  template <class F>
  __device__ void for_elements(const F& f) const {
    const unsigned size = Tile::columns << rows.shift, threads = blockDim.x * blockDim.y;
    for (unsigned i = threadIdx.y * blockDim.x + threadIdx.x; i < size; i += threads) {
      const unsigned e = rows.element(i), column = i >> rows.shift;
      if (e < part.rows && column < part.columns) f(e, column, first_item_ + column);
    }
  }

 private:
  std::size_t first_item_;
};

// Tiles without idle lines for a number of gates: a tile has 8 or 4 elements of every gate, and a
// thread has one element of every gate.
template <class T, unsigned gates>
struct GateTiles {
  using Small = Tile<T, 8 * gates, 16, WarpTiles<T>::Small::depth, gates, 4, 1>;
  using Tiny = Tile<T, 4 * gates, 8, WarpTiles<T>::Tiny::depth, gates, 1, 1>;
};

// Calls launch.operator()<Tile>(shape, shift) if one launch can do all. A tile must have room for
// at least one vector of every gate: 1 << shift elements.
template <class Tile, class T, class Launch>
bool in_joined_tiles_of(Commands& commands, GatheredProducts<T>& products, unsigned gates,
                        const Launch& launch) {
  const unsigned elements = std::bit_floor(Tile::rows / gates);
  if (elements < kVector<T>) return false;
  Shape shape = products.shape_in_warps(commands, gates * elements, Tile::columns);
  shape.blocks_x /= static_cast<unsigned>(products.size());  // a block does all of its part
  launch.template operator()<Tile>(shape, std::countr_zero(elements));
  return true;
}
template <class Tiles, class T, class Launch>
bool in_joined_tiles(Commands& commands, GatheredProducts<T>& products, unsigned gates,
                     const Launch& launch) {
  if (products.size() == 0 || !products.all_joined()) return false;
  const TileSize size = products.tile_size();
  return (size == TileSize::tiny &&
          in_joined_tiles_of<typename Tiles::Tiny>(commands, products, gates, launch)) ||
         (size <= TileSize::small &&
          in_joined_tiles_of<typename Tiles::Small>(commands, products, gates, launch));
}

// The pointwise part of the gradients.
template <class T>
struct LstmGradients {
  static constexpr unsigned blocks_at_once = 4;
  static constexpr bool cooperates = false;

  Part part;
  LstmLayout layout;
  Operand dys, saved;
  const Operand* cells;
  const Destination* cell_gradients;
  Deferred<T> deferred;

  __device__ void run() const {
    Place place;
    if (!find_step_element(part, place)) return;
    const std::size_t item = place.item;
    lstm_gradient(layout, layout.children, Here{place.at}, cells, cell_gradients, item,
                  dys.at<T>(2 * item), dys.at<T>(2 * item + 1), saved.at<T>(item),
                  deferred.at(item));
  }
};

template <class T>
struct GruGradients {
  static constexpr unsigned blocks_at_once = 4;
  static constexpr bool cooperates = false;

  Part part;
  Operand dys, saved, before;
  Deferred<T> deferred;
  bool has_x;
  T* through_z;

  __device__ void run() const {
    Place place;
    if (!find_step_element(part, place)) return;
    const unsigned hidden = part.size;
    const std::size_t item = place.item;
    T* const sums = deferred.at(item);
    gru_gradient(hidden, Here{place.at}, before.at<T>(item), dys.at<T>(item), saved.at<T>(item),
                 sums, has_x ? sums + 3 * hidden : nullptr, item_of(through_z, item, hidden));
  }
};

template <class T>
using GradientSteps =
    Together<WarpProducts<typename WarpTiles<T>::Small, true, T>,
             WarpProducts<typename WarpTiles<T>::Tiny, true, T>, LstmGradients<T>, GruGradients<T>>;

// ---------------------------------------------------------------------------------------- LSTM

template <class T>
__global__ void lstm_items(Part part, LstmLayout layout, const T* sums, const Operand* cells,
                           Output out, T* saved) {
  Place place;
  if (!find_element(part, place)) return;
  const std::size_t item = place.item;
  const Here here{place.at};
  sums += item * layout.rows;
  const auto sum = [&](unsigned row) { return here.load(sums + row); };
  T* const states[] = {output_at<T>(out, 2 * item), output_at<T>(out, 2 * item + 1)};
  lstm_element(layout, layout.children, here, sum, cells, item, states,
               item_of(saved, item, layout.rows + layout.hidden));
}

template <class Tile, class T>
struct LstmItems {
  // Five gates of doubles need more registers than threads of three blocks have.
  static constexpr unsigned sum_bytes = Tile::thread_rows * Tile::thread_columns * sizeof(T);
  static constexpr unsigned blocks_at_once = sum_bytes > 128 ? 2 : Tile::blocks_at_once;
  static constexpr bool cooperates = true;

  LstmLayout layout;
  unsigned shift;
  const GatheredProduct<T>* product;
  const Factor<T>* factors;
  const Operand* cells;
  Output out;
  T* saved;

  __device__ void run() const {
    const GatheredProduct<T>& all = *global(product);
    const BlockOfGates<Tile, T> block(all, layout.hidden, layout.rows / layout.hidden, shift);
    ChunkSums<Tile, false> sums;
    sums.compute(all, global(factors), block.part, block.rows);
    block.for_elements([&](unsigned e, unsigned column, std::size_t item) {
      const auto sum = [&](unsigned row) {
        const unsigned gate = row / layout.hidden;
        return sums.at(block.line(gate, e), column) + block.bias(all, item, gate, e);
      };
      T* const states[] = {output_at<T>(out, 2 * item), output_at<T>(out, 2 * item + 1)};
      lstm_element(layout, layout.children, Here{block.part.row + e}, sum, cells, item, states,
                   item_of(saved, item, layout.rows + layout.hidden));
    });
  }
};

template <class Tiles, class T>
using LstmSteps = Together<LstmItems<typename Tiles::Small, T>, LstmItems<typename Tiles::Tiny, T>>;

template <class T>
void lstm_forward(const ForwardCall& call) {
  const LstmLayout layout(*call.type);
  Commands& commands = commands_of(call);
  T* const sums = commands.elements<T>(call.n * layout.rows);
  GatheredProducts<T> products;
  add_affine(products, call, layout.map(*call.type), {sums, layout.rows});
  const Operand* const cells = commands.stage(call.in + 1, layout.children);
  T* const saved = static_cast<T*>(call.saved);
  const unsigned gates = layout.rows / layout.hidden;
  const auto in_tiles = [&]<class Tiles>() {
    return in_joined_tiles<Tiles>(
        commands, products, gates, [&]<class Tile>(const Shape& shape, int shift) {
          add_step(commands, LstmSteps<Tiles, T>(), shape,
                   LstmItems<Tile, T>{layout, static_cast<unsigned>(shift),
                                      products.stage_products(commands),
                                      products.stage_factors(commands), cells, call.out, saved});
        });
  };
  const bool joined = gates == 3   ? in_tiles.template operator()<GateTiles<T, 3>>()
                      : gates == 5 ? in_tiles.template operator()<GateTiles<T, 5>>()
                                   : in_tiles.template operator()<WarpTiles<T>>();
  if (joined) return;
  products.launch(commands, false);
  launch_elements(commands, call.n, layout.hidden, lstm_items<T>, layout, sums, cells, call.out,
                  saved);
}

template <class T>
void lstm_backward(const BackwardCall& call) {
  const LstmLayout layout(*call.type);
  const Affine map = layout.map(*call.type);
  Commands& commands = commands_of(call);
  const Deferred<T> deferred(call);
  const Operand* const cells = commands.stage(call.in + 1, layout.children);
  const Destination* const cell_gradients = commands.stage(call.dx + 1, layout.children);
  add_element_steps(commands, GradientSteps<T>(), call.n, layout.hidden, [&](const Part& part) {
    return LstmGradients<T>{part, layout, call.dy, call.saved, cells, cell_gradients, deferred};
  });
  launch_left_gradients(call, map, deferred.places());
  GatheredProducts<T> products;
  add_right_gradients(products, call, map, deferred.places());
  products.launch(commands, true);
}

// ----------------------------------------------------------------------------------------- GRU

template <class T>
__global__ void gru_items(Part part, const T* sums_h, const T* sums_x, Operand before, Output out,
                          T* saved) {
  Place place;
  if (!find_element(part, place)) return;
  const unsigned hidden = part.size;
  const std::size_t item = place.item, first = item * 3 * hidden;
  const Here here{place.at};
  const auto of_h = [&](unsigned gate) { return here.load(sums_h + first + gate * hidden); };
  const auto of_x = [&](unsigned gate) { return here.load(sums_x + first + gate * hidden); };
  gru_element(hidden, here, of_h, of_x, sums_x != nullptr, before.at<T>(item),
              output_at<T>(out, item), item_of(saved, item, 4 * hidden));
}

// For few columns: a block computes the sums of h, then those of x, then the elements.
template <class Tile, class T>
struct GruItems {
  static constexpr unsigned blocks_at_once = Tile::blocks_at_once;
  static constexpr bool cooperates = true;

  unsigned hidden, shift;
  const GatheredProduct<T>* products;
  bool has_x;
  const Factor<T>* factors;
  Operand before;
  Output out;
  T* saved;

  __device__ void run() const;
};
template <class Tile, class T>
__device__ void GruItems<Tile, T>::run() const {
  const GatheredProduct<T>* const of = global(products);
  SHARED_ARRAY(T, sums_of_h, Tile::rows * Tile::columns);
  const BlockOfGates<Tile, T> block(of[0], hidden, 3, shift);
  ChunkSums<Tile, false> sums;
  sums.compute(of[0], global(factors), block.part, block.rows);
  block.for_elements([&](unsigned e, unsigned column, std::size_t item) {
    for (unsigned gate = 0; gate < 3; ++gate) {
      const unsigned line = block.line(gate, e);
      sums_of_h[column * Tile::rows + line] =
          sums.at(line, column) + block.bias(of[0], item, gate, e);
    }
  });
  if (has_x) {
    __syncthreads();
    sums.compute(of[1], global(factors), block.part, block.rows);
  }
  block.for_elements([&](unsigned e, unsigned column, std::size_t item) {
    const auto of_h = [&](unsigned gate) {
      return sums_of_h[column * Tile::rows + block.line(gate, e)];
    };
    const auto of_x = [&](unsigned gate) {
      return sums.at(block.line(gate, e), column) + block.bias(of[1], item, gate, e);
    };
    gru_element(hidden, Here{block.part.row + e}, of_h, of_x, has_x, before.at<T>(item),
                output_at<T>(out, item), item_of(saved, item, 4 * hidden));
  });
}

template <class Tiles, class T>
using GruSteps = Together<GruItems<typename Tiles::Small, T>, GruItems<typename Tiles::Tiny, T>>;

template <class T>
void gru_forward(const ForwardCall& call) {
  const GruLayout layout(*call.type);
  Commands& commands = commands_of(call);
  const std::size_t count = call.n * layout.hidden;
  T* const sums_h = commands.elements<T>(3 * count);
  T* const sums_x = layout.has_x() ? commands.elements<T>(3 * count) : nullptr;
  GatheredProducts<T> products;
  add_affine(products, call, layout.of_h, {sums_h, layout.rows});
  if (layout.has_x()) add_affine(products, call, layout.of_x, {sums_x, layout.rows});
  T* const saved = static_cast<T*>(call.saved);
  const bool joined = in_joined_tiles<GateTiles<T, 3>>(
      commands, products, 3, [&]<class Tile>(const Shape& shape, int shift) {
        add_step(commands, GruSteps<GateTiles<T, 3>, T>(), shape,
                 GruItems<Tile, T>{layout.hidden, static_cast<unsigned>(shift),
                                   products.stage_products(commands), layout.has_x(),
                                   products.stage_factors(commands), call.in[2], call.out, saved});
      });
  if (joined) return;
  products.launch(commands, false);
  launch_elements(commands, call.n, layout.hidden, gru_items<T>, sums_h, sums_x, call.in[2],
                  call.out, saved);
}

template <class T>
void gru_backward(const BackwardCall& call) {
  const GruLayout layout(*call.type);
  Commands& commands = commands_of(call);
  const Deferred<T> deferred(call);
  const Places<T> of_h = deferred.places(), of_x = deferred.places(3 * layout.hidden);
  T* const through_z = call.dx[2].wanted() ? commands.elements<T>(call.n * layout.hidden) : nullptr;
  add_element_steps(commands, GradientSteps<T>(), call.n, layout.hidden, [&](const Part& part) {
    return GruGradients<T>{part,     call.dy,        call.saved, call.in[2],
                           deferred, layout.has_x(), through_z};
  });
  launch_left_gradients(call, layout.of_h, of_h);
  if (layout.has_x()) launch_left_gradients(call, layout.of_x, of_x);
  GatheredProducts<T> products;
  // The gradient of h has two terms. The one through z is added like a bias.
  add_right_gradients(products, call, layout.of_h, of_h, Places<T>(through_z, layout.hidden));
  if (layout.has_x()) add_right_gradients(products, call, layout.of_x, of_x);
  products.launch(commands, true);
}

}  // namespace

template <class Tile, class T>
void add_product_step(Commands& commands, const Shape& shape,
                      const WarpProducts<Tile, true, T>& work) {
  add_step(commands, GradientSteps<T>(), shape, work);
}
template void add_product_step(Commands&, const Shape&,
                               const WarpProducts<WarpTiles<float>::Small, true, float>&);
template void add_product_step(Commands&, const Shape&,
                               const WarpProducts<WarpTiles<float>::Tiny, true, float>&);
template void add_product_step(Commands&, const Shape&,
                               const WarpProducts<WarpTiles<double>::Small, true, double>&);
template void add_product_step(Commands&, const Shape&,
                               const WarpProducts<WarpTiles<double>::Tiny, true, double>&);

std::vector<KernelEntry> cell_kernels() {
  return {{"lstm_cell", DYNET_LIKE_KERNELS(lstm_forward, lstm_backward)},
          {"gru_cell", DYNET_LIKE_KERNELS(gru_forward, gru_backward)}};
}

}  // namespace dynet_like::detail::cuda
