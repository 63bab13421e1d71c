// Kernels of ops: LSTM and GRU cells. The products of all gates are one launch, what is pointwise
// another; for few columns of an LSTM it is the same one.
#include <bit>

#include "dynet_like/device/cuda/affine.h"
#include "dynet_like/device/cuda/deferred.h"
#include "dynet_like/device/cuda/gathered_tiles.h"
#include "dynet_like/device/cuda/kernel_table.h"

namespace dynet_like::detail::cuda {

namespace {

template <class T>
__device__ T logistic(T x) {
  return T(1) / (T(1) + std::exp(-x));
}

// ---------------------------------------------------------------------------------------- LSTM

// Element e of an item, whose sums `sum` gives by their row.
template <class T, class Sum>
__device__ void lstm_element(const LstmLayout& layout, std::size_t item, unsigned e, const Sum& sum,
                             const Operand* cells, T* out, T* saved) {
  out += item * 2 * layout.hidden + e;
  T* const kept =
      saved == nullptr ? nullptr : saved + item * (std::size_t{layout.rows} + layout.hidden) + e;
  const T i = logistic(sum(layout.i)), o = logistic(sum(layout.o)), u = std::tanh(sum(layout.u));
  T c = i * u;
  for (unsigned k = 0; k < layout.children; ++k) {
    const unsigned row = layout.f + k * layout.hidden;
    const T f = logistic(sum(row));
    c = std::fma(f, cells[k].at<T>(item)[e], c);
    if (kept != nullptr) kept[row] = f;
  }
  const T t = std::tanh(c);
  out[0] = o * t;
  out[layout.hidden] = c;
  if (kept == nullptr) return;
  kept[layout.i] = i;
  kept[layout.o] = o;
  kept[layout.u] = u;
  kept[layout.rows] = t;
}

template <class T>
__global__ void lstm_items(LstmLayout layout, std::size_t count, const T* sums,
                           const Operand* cells, T* out, T* saved) {
  const std::size_t at = thread_index();
  if (at >= count) return;
  const std::size_t item = at / layout.hidden;
  const auto e = static_cast<unsigned>(at % layout.hidden);
  sums += item * layout.rows + e;
  lstm_element(
      layout, item, e, [&](unsigned row) { return sums[row]; }, cells, out, saved);
}

// Few columns: the block that has summed the gates of some elements goes on with them.
template <class Tile, class T>
__global__ void __launch_bounds__(kWarp* kMostChunks, Tile::blocks_at_once)
    multiply_lstm_items(LstmLayout layout, unsigned shift, const GatheredProduct<T>* products,
                        const Factor<T>* factors, const Operand* cells, T* out, T* saved) {
  const GatheredProduct<T>& product = *products;
  const unsigned size = 1u << shift;
  TilePart part = tile_part_of<Tile>(product);
  part.row = blockIdx.x % product.row_tiles * size;
  part.rows = layout.hidden - part.row;
  const RowsOfGates rows{part.row, part.rows, layout.rows / layout.hidden, shift, layout.hidden};
  ChunkSums<Tile, false> sums;
  sums.compute(product, factors, part, rows);
  const unsigned threads = blockDim.x * blockDim.y;
  for (unsigned i = threadIdx.y * blockDim.x + threadIdx.x; i < size * Tile::columns;
       i += threads) {
    const unsigned e = i % size, column = i / size;
    if (e >= part.rows || column >= part.columns) continue;
    const std::size_t item = place_of(product, part, column).item;
    const T* const bias = product.bias.at(item) + part.row + e;
    const auto sum = [&](unsigned row) {
      return sums.at(row / layout.hidden * size + e, column) + bias[row];
    };
    lstm_element(layout, item, part.row + e, sum, cells, out, saved);
  }
}

// Whether one launch does all; a tile must have at least a vector of every gate.
template <class Tile, class T>
bool launch_joined_lstm(GatheredProducts<T>& products, const ForwardCall& call,
                        const LstmLayout& layout) {
  const unsigned gates = layout.rows / layout.hidden;
  const unsigned elements = std::bit_floor(Tile::rows / gates);
  if (elements < kVector<T>) return false;
  Commands& commands = commands_of(call);
  const std::size_t blocks = products.place_blocks(gates * elements, Tile::columns);
  commands.launch_cooperating({launch_size(blocks), 1, 1, kWarp, products.most_chunks()},
                              multiply_lstm_items<Tile, T>, layout, std::countr_zero(elements),
                              products.stage_products(commands), products.stage_factors(commands),
                              commands.stage(call.in + 1, layout.children),
                              static_cast<T*>(call.out), static_cast<T*>(call.saved));
  return true;
}

template <class T>
void lstm_forward(const ForwardCall& call) {
  const LstmLayout layout(*call.type);
  Commands& commands = commands_of(call);
  T* const sums = commands.elements<T>(call.n * layout.rows);
  GatheredProducts<T> products;
  add_affine(products, call, layout.map(*call.type), sums);
  if (products.empty()) return;
  const TileSize size = products.tile_size();
  using Tiles = WarpTiles<T>;
  if (size == TileSize::tiny && launch_joined_lstm<typename Tiles::Tiny>(products, call, layout)) {
    return;
  }
  if (size <= TileSize::small &&
      launch_joined_lstm<typename Tiles::Small>(products, call, layout)) {
    return;
  }
  products.launch(commands, false);
  const std::size_t count = call.n * layout.hidden;
  launch_each(commands, count, lstm_items<T>, layout, count, sums,
              commands.stage(call.in + 1, layout.children), static_cast<T*>(call.out),
              static_cast<T*>(call.saved));
}

// With t = tanh c: do = dh t, dc += dh o (1 - t^2); then through the sum and the nonlinearities.
template <class T>
__global__ void lstm_gradients(LstmLayout layout, std::size_t count, Operand dys, Operand saved,
                               const Operand* cells, const Destination* cell_gradients,
                               Deferred<T> deferred) {
  const std::size_t at = thread_index();
  if (at >= count) return;
  const std::size_t item = at / layout.hidden;
  const auto e = static_cast<unsigned>(at % layout.hidden);
  const T *const dy = dys.at<T>(item) + e, *const kept = saved.at<T>(item) + e;
  T* const sums = deferred.at(item) + e;
  const T dh = dy[0], i = kept[layout.i], o = kept[layout.o], u = kept[layout.u];
  const T t = kept[layout.rows];
  const T dc = std::fma(dh * o, T(1) - t * t, dy[layout.hidden]);
  sums[layout.i] = dc * u * (i * (T(1) - i));
  sums[layout.o] = dh * t * (o * (T(1) - o));
  sums[layout.u] = dc * i * (T(1) - u * u);
  for (unsigned k = 0; k < layout.children; ++k) {
    const unsigned row = layout.f + k * layout.hidden;
    const T f = kept[row];
    sums[row] = dc * cells[k].at<T>(item)[e] * (f * (T(1) - f));
    const Destination& to = cell_gradients[k];
    if (to.wanted() && to.items[item] != nullptr) {
      put(dc * f, to.at<T>(item) + e, to.add[item] != 0);
    }
  }
}

template <class T>
void lstm_backward(const BackwardCall& call) {
  const LstmLayout layout(*call.type);
  const Affine map = layout.map(*call.type);
  Commands& commands = commands_of(call);
  const Deferred<T> deferred(call);
  const std::size_t count = call.n * layout.hidden;
  launch_each(commands, count, lstm_gradients<T>, layout, count, call.dy, call.saved,
              commands.stage(call.in + 1, layout.children),
              commands.stage(call.dx + 1, layout.children), deferred);
  launch_left_gradients(call, map, deferred.places());
  GatheredProducts<T> products;
  add_right_gradients(products, call, map, deferred.places());
  products.launch(commands, true);
}

// ----------------------------------------------------------------------------------------- GRU

// r and z are of both sums; of n, only the part of h goes through the reset gate.
template <class T>
__global__ void gru_items(unsigned hidden, std::size_t count, const T* sums_h, const T* sums_x,
                          Operand before, T* out, T* saved) {
  const std::size_t at = thread_index();
  if (at >= count) return;
  const std::size_t item = at / hidden, e = at % hidden;
  sums_h += item * 3 * hidden + e;
  if (sums_x != nullptr) sums_x += item * 3 * hidden + e;
  const auto sum = [&](unsigned gate) {
    const T of_h = sums_h[gate * hidden];
    return sums_x == nullptr ? of_h : of_h + sums_x[gate * hidden];
  };
  const T r = logistic(sum(0)), z = logistic(sum(1)), inner = sums_h[2 * hidden];
  T total = r * inner;
  if (sums_x != nullptr) total = total + sums_x[2 * hidden];
  const T n = std::tanh(total);
  out[at] = std::fma(z, before.at<T>(item)[e], (T(1) - z) * n);
  if (saved == nullptr) return;
  saved += item * 4 * hidden + e;
  saved[0] = r;
  saved[hidden] = z;
  saved[2 * hidden] = n;
  saved[3 * hidden] = inner;
}

template <class T>
void gru_forward(const ForwardCall& call) {
  const GruLayout layout(*call.type);
  Commands& commands = commands_of(call);
  const std::size_t count = call.n * layout.hidden;
  T* const sums_h = commands.elements<T>(3 * count);
  T* const sums_x = layout.has_x() ? commands.elements<T>(3 * count) : nullptr;
  GatheredProducts<T> products;
  add_affine(products, call, layout.of_h, sums_h);
  if (layout.has_x()) add_affine(products, call, layout.of_x, sums_x);
  products.launch(commands, false);
  launch_each(commands, count, gru_items<T>, layout.hidden, count, sums_h, sums_x, call.in[2],
              static_cast<T*>(call.out), static_cast<T*>(call.saved));
}

// h' = (1 - z) n + z h. What the gradient of h gets through z goes to `through_z`.
template <class T>
__global__ void gru_gradients(unsigned hidden, std::size_t count, Operand dy, Operand saved,
                              Operand before, Deferred<T> deferred, bool has_x, T* through_z) {
  const std::size_t at = thread_index();
  if (at >= count) return;
  const std::size_t item = at / hidden, e = at % hidden;
  const T* const kept = saved.at<T>(item) + e;
  const T g = dy.at<T>(item)[e], r = kept[0], z = kept[hidden], n = kept[2 * hidden];
  const T inner = kept[3 * hidden];
  const T dn = g * (T(1) - z) * (T(1) - n * n);
  const T dz = g * (before.at<T>(item)[e] - n) * (z * (T(1) - z));
  const T dr = dn * inner * (r * (T(1) - r));
  T* const sums = deferred.at(item) + e;
  sums[0] = dr;
  sums[hidden] = dz;
  sums[2 * hidden] = dn * r;
  if (has_x) {
    sums[3 * hidden] = dr;
    sums[4 * hidden] = dz;
    sums[5 * hidden] = dn;
  }
  if (through_z != nullptr) through_z[at] = g * z;
}

template <class T>
void gru_backward(const BackwardCall& call) {
  const GruLayout layout(*call.type);
  Commands& commands = commands_of(call);
  const Deferred<T> deferred(call);
  const Places<T> of_h = deferred.places(), of_x = deferred.places(3 * layout.hidden);
  const std::size_t count = call.n * layout.hidden;
  T* const through_z = call.dx[2].wanted() ? commands.elements<T>(count) : nullptr;
  launch_each(commands, count, gru_gradients<T>, layout.hidden, count, call.dy, call.saved,
              call.in[2], deferred, layout.has_x(), through_z);
  launch_left_gradients(call, layout.of_h, of_h);
  if (layout.has_x()) launch_left_gradients(call, layout.of_x, of_x);
  GatheredProducts<T> products;
  // The gradient of h has two terms; that through z is added as a bias is.
  add_right_gradients(products, call, layout.of_h, of_h, Places<T>(through_z, layout.hidden));
  if (layout.has_x()) add_right_gradients(products, call, layout.of_x, of_x);
  products.launch(commands, true);
}

}  // namespace

std::span<const KernelEntry> cell_kernels() {
  static const KernelEntry table[] = {
      {"lstm_cell",
       {{lstm_forward<float>, lstm_forward<double>},
        {lstm_backward<float>, lstm_backward<double>}}},
      {"gru_cell",
       {{gru_forward<float>, gru_forward<double>}, {gru_backward<float>, gru_backward<double>}}}};
  return table;
}

}  // namespace dynet_like::detail::cuda
