// Sums of thousands of gradients: outer products for weights, plain sums for biases and rows.
//
// Every element of a sum is one chain over the addends, in their order, whatever is split how.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/outer_products.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/product-inl.h"

#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::HWY_NAMESPACE {

// Addends are copied together in blocks: of dy the rows of a panel, of x all columns, tile by tile.
constexpr std::size_t kAddends = 256;

// A tile of the sum: `dy` has V vectors per addend, `x` C numbers (at a distance of kTileColumns).
template <class E, int V, int C>
HWY_INLINE void outer_tile(const E* HWY_RESTRICT dy, const E* HWY_RESTRICT x, std::size_t n,
                           bool fresh, std::size_t tail, E* HWY_RESTRICT sum, std::size_t rows) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  const auto place = [&](int v, int c) { return sum + c * rows + v * kLanes; };
  const auto count = [&](int v) { return v == V - 1 ? tail : kLanes; };
  Lanes<E> acc[V][C];
  for (int c = 0; c < C; ++c) {
    for (int v = 0; v < V; ++v) {
      acc[v][c] = fresh ? Lanes<E>(0.0) : load(place(v, c), count(v));
    }
  }
  for (std::size_t i = 0; i < n; ++i, dy += V * kLanes, x += kTileColumns) {
    Lanes<E> left[V];
    for (int v = 0; v < V; ++v) left[v] = Lanes<E>::load(dy + v * kLanes);
    for (int c = 0; c < C; ++c) {
      const Lanes<E> factor(hn::Set(typename Lanes<E>::Tag(), x[c]));
      for (int v = 0; v < V; ++v) acc[v][c] = fused(left[v], factor, acc[v][c]);
    }
  }
  for (int c = 0; c < C; ++c) {
    for (int v = 0; v < V; ++v) store(acc[v][c], place(v, c), count(v));
  }
}

template <class E>
struct OuterBlock {
  const E* dy;  ///< per addend, the rows of a panel
  const E* x;   ///< per tile of columns and addend, kTileColumns numbers
  std::size_t n, rows, columns;
  bool fresh;
  E* sum;
};

// The rows of one panel, V vectors, from `row` on.
template <class E, int V>
HWY_NOINLINE void outer_panel(const OuterBlock<E>& block, std::size_t row, std::size_t tail) {
  for (std::size_t c = 0; c < block.columns; c += kTileColumns) {
    const E* x = block.x + c * block.n;
    E* sum = block.sum + c * block.rows + row;
    const auto tile = [&]<int C>() HWY_ATTR {
      outer_tile<E, V, C>(block.dy, x, block.n, block.fresh, tail, sum, block.rows);
    };
    switch (HWY_MIN(block.columns - c, std::size_t{kTileColumns})) {
      case 1:
        tile.template operator()<1>();
        break;
      case 2:
        tile.template operator()<2>();
        break;
      case 3:
        tile.template operator()<3>();
        break;
      case 4:
        tile.template operator()<4>();
        break;
      case 5:
        tile.template operator()<5>();
        break;
      default:
        tile.template operator()<6>();
    }
  }
}

// Tile by tile, and for every addend its numbers.
template <class E>
HWY_INLINE void gather_columns(const void* const* x, std::size_t n, std::size_t columns, E* to) {
  for (std::size_t i = 0; i < n; ++i) {
    const E* from = static_cast<const E*>(x[i]);
    E* tile = to + i * kTileColumns;
    std::size_t c = 0;
    for (; c + kTileColumns <= columns; c += kTileColumns, tile += n * kTileColumns) {
      std::memcpy(tile, from + c, kTileColumns * sizeof(E));
    }
    for (std::size_t last = c; c < columns; ++c) tile[c - last] = from[c];
  }
}

template <class E>
HWY_INLINE void gather_rows(const void* const* dy, std::size_t n, std::size_t row,
                            std::size_t vectors, std::size_t tail, E* to) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  constexpr std::size_t kAhead = 8;  // addends lie anywhere: ask for them early
  for (std::size_t i = 0; i < n; ++i) {
    const E* from = static_cast<const E*>(dy[i]) + row;
    if (i + kAhead < n) {
      const E* next = static_cast<const E*>(dy[i + kAhead]) + row;
      for (std::size_t v = 0; v < vectors; ++v) __builtin_prefetch(next + v * kLanes);
    }
    for (std::size_t v = 0; v < vectors; ++v, from += kLanes, to += kLanes) {
      load(from, v + 1 == vectors ? tail : kLanes).store(to);
    }
  }
}

template <class E>
void add_outer_products(const OuterProducts& call, std::size_t begin, std::size_t end,
                        Workspace& workspace) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  const std::size_t tiles = (call.columns + kTileColumns - 1) / kTileColumns;
  const std::size_t most = HWY_MIN(kAddends, call.addends.n);
  E* dy = workspace.elements<E>(most * kPanelRows<E>);
  E* x = workspace.elements<E>(most * tiles * kTileColumns);
  OuterBlock<E> block{dy, x, 0, call.rows, call.columns, false, static_cast<E*>(call.sum)};
  for (std::size_t first = 0; first < call.addends.n; first += block.n) {
    block.n = HWY_MIN(kAddends, call.addends.n - first);
    block.fresh = call.fresh && first == 0;
    gather_columns(call.addends.x + first, block.n, call.columns, x);
    for (std::size_t row = begin; row < end; row += kPanelRows<E>) {
      const std::size_t have = HWY_MIN(kPanelRows<E>, end - row);
      const std::size_t vectors = (have + kLanes - 1) / kLanes;
      const std::size_t tail = have - (vectors - 1) * kLanes;
      gather_rows(call.addends.dy + first, block.n, row, vectors, tail, dy);
      if (vectors == 1) outer_panel<E, 1>(block, row, tail);
      if (vectors == 2) outer_panel<E, 2>(block, row, tail);
      if constexpr (kPanelVectors == 4) {
        if (vectors == 3) outer_panel<E, 3>(block, row, tail);
        if (vectors == 4) outer_panel<E, 4>(block, row, tail);
      }
    }
  }
}

// V vectors of the sum, the last of them with `tail` elements.
template <class E, int V>
HWY_INLINE void add_vectors(E* sum, std::size_t at, std::size_t tail, const void* const* dy,
                            std::size_t n, bool fresh) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  const auto count = [&](int v) { return v == V - 1 ? tail : kLanes; };
  Lanes<E> acc[V];
  for (int v = 0; v < V; ++v) {
    acc[v] = fresh ? Lanes<E>(0.0) : load(sum + at + v * kLanes, count(v));
  }
  for (std::size_t i = 0; i < n; ++i) {
    const E* from = static_cast<const E*>(dy[i]) + at;
    for (int v = 0; v < V; ++v) acc[v] = acc[v] + load(from + v * kLanes, count(v));
  }
  for (int v = 0; v < V; ++v) store(acc[v], sum + at + v * kLanes, count(v));
}

template <class E>
void add_all(void* sum, std::size_t begin, std::size_t end, const void* const* dy, std::size_t n,
             bool fresh) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  E* to = static_cast<E*>(sum);
  std::size_t at = begin;
  for (; at + 4 * kLanes <= end; at += 4 * kLanes) {
    add_vectors<E, 4>(to, at, kLanes, dy, n, fresh);
  }
  for (; at < end; at += kLanes) {
    add_vectors<E, 1>(to, at, HWY_MIN(kLanes, end - at), dy, n, fresh);
  }
}

template <class E>
std::size_t packed_size(std::size_t rows, std::size_t columns, bool transposed) {
  return transposed ? padded_rows<E>(columns) * rows : padded_rows<E>(rows) * columns;
}

template <class E>
void pack_matrix(const void* matrix, std::size_t rows, std::size_t columns, bool transposed,
                 void* to) {
  const E* from = static_cast<const E*>(matrix);
  if (transposed) {
    pack_transposed(from, rows, columns, static_cast<E*>(to));
  } else {
    pack(from, rows, columns, rows, static_cast<E*>(to));
  }
}

const cpu::MatrixFunctions* matrix_function_table() {
  static const cpu::MatrixFunctions table = {
      {add_outer_products<float>, add_outer_products<double>},
      {add_all<float>, add_all<double>},
      {packed_size<float>, packed_size<double>},
      {pack_matrix<float>, pack_matrix<double>},
      {kPanelRows<float>, kPanelRows<double>}};
  return &table;
}

}  // namespace dynet_like::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like {
HWY_EXPORT(matrix_function_table);
const cpu::MatrixFunctions& cpu::matrix_functions() {
  return *HWY_DYNAMIC_DISPATCH(matrix_function_table)();
}
}  // namespace dynet_like
#endif
