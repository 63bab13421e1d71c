// Sums of thousands of gradients: outer products for weights, plain sums for biases and rows.
//
// Every element of a sum is one chain over the addends in their order, however the work is split.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/outer_products.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/product-inl.h"

#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

// So many addends at a time stay in the L2 cache for all tiles.
constexpr std::size_t kAddends = 256;

// Tiles can read addends at their scattered addresses. If at least so many tiles read the same
// addends, copying them together first pays. The number is smaller if a tile reads only a cache
// line of each, and 0 if the last vector cannot be read in part.
template <class E>
constexpr std::size_t kWorthCopying = !Lanes<E>::masks_memory           ? 0
                                      : kPanelRows<E> * sizeof(E) < 256 ? 8
                                                                        : 32;

// So many bytes of each addend are copied at once: they follow each other in memory.
constexpr std::size_t kCopiedBytes = 512;

// One side of the addends: their addresses, and the element of each at which to begin.
struct Side {
  const void* const* places = nullptr;
  std::size_t begin = 0;
  template <class E>
  HWY_INLINE const E* at(std::size_t i) const {
    return static_cast<const E*>(places[i]) + begin;
  }
};

// sum[v, c] += wide_1[v] narrow_1[c] + wide_2[v] narrow_2[c] + ... for V vectors, the last of which
// has `tail` elements (kMasked: only these may be read), and C numbers. The sums of two numbers lie
// `stride` elements apart.
template <class E, int V, int C, bool kMasked>
HWY_NOINLINE void outer_tile(Side wide, Side narrow, std::size_t n, bool fresh, std::size_t tail,
                             E* sum, std::size_t stride) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  const typename Lanes<E>::Tag d;
  Lanes<E> acc[V][C];
  const auto for_sums = [&](const auto& f) DYNET_LIKE_BODY {
    unrolled<C>([&](auto c) DYNET_LIKE_BODY {
      unrolled<V>([&](auto v) DYNET_LIKE_BODY {
        f(acc[v][c], sum + c * stride + v * kLanes, v == V - 1 ? tail : kLanes);
      });
    });
  };
  for_sums([&](Lanes<E>& lanes, const E* at, std::size_t count)
               DYNET_LIKE_BODY { lanes = fresh ? Lanes<E>(0.0) : load(at, count); });
  for (std::size_t i = 0; i < n; ++i) {
    const E *from = wide.at<E>(i), *numbers = narrow.at<E>(i);
    const auto left = [&](auto v) DYNET_LIKE_BODY {
      const bool is_tail = kMasked && v == V - 1;
      return is_tail ? Lanes<E>::load(from + v * kLanes, tail) : Lanes<E>::load(from + v * kLanes);
    };
    add_products<V, C>(acc, left,
                       [&](auto c) DYNET_LIKE_BODY { return Lanes<E>(hn::Set(d, numbers[c])); });
  }
  for_sums([&](Lanes<E>& lanes, E* at, std::size_t count)
               DYNET_LIKE_BODY { store(lanes, at, count); });
}

// The side that a tile reads as vectors, up to kPanelRows elements.
struct WideSide {
  Side side;
  std::size_t size;
  bool padded;  // zeros fill up the last vector
};

template <class E, int V, bool kMasked>
HWY_INLINE void add_tile_of(const WideSide& wide, Side narrow, std::size_t numbers, std::size_t n,
                            bool fresh, E* sum, std::size_t stride) {
  constexpr decltype(&outer_tile<E, V, 1, kMasked>) tiles[kTileColumns] = {
      outer_tile<E, V, 1, kMasked>, outer_tile<E, V, 2, kMasked>, outer_tile<E, V, 3, kMasked>,
      outer_tile<E, V, 4, kMasked>, outer_tile<E, V, 5, kMasked>, outer_tile<E, V, 6, kMasked>};
  const std::size_t tail = wide.size - (V - 1) * Lanes<E>::size;
  tiles[numbers - 1](wide.side, narrow, n, fresh, tail, sum, stride);
}

// The tile of `wide` and up to kTileColumns numbers of `narrow`.
template <class E>
HWY_INLINE void add_tile(const WideSide& wide, Side narrow, std::size_t numbers, std::size_t n,
                         bool fresh, E* sum, std::size_t stride) {
  const auto add = [&]<int V>() DYNET_LIKE_BODY {
    if (wide.padded || wide.size == V * Lanes<E>::size) {
      add_tile_of<E, V, false>(wide, narrow, numbers, n, fresh, sum, stride);
    } else {
      add_tile_of<E, V, true>(wide, narrow, numbers, n, fresh, sum, stride);
    }
  };
  const std::size_t vectors = (wide.size + Lanes<E>::size - 1) / Lanes<E>::size;
  if (vectors == 1) add.template operator()<1>();
  if (vectors == 2) add.template operator()<2>();
  if constexpr (kPanelVectors == 4) {
    if (vectors == 3) add.template operator()<3>();
    if (vectors == 4) add.template operator()<4>();
  }
}

// Copies of addends, one behind the other.
template <class E>
class Copies {
 public:
  Copies(Workspace& workspace, std::size_t addends, std::size_t size)
      : memory_(workspace.elements<E>(addends * size)),
        places_(workspace.elements<const void*>(addends)) {}

  // Copies panel by panel, and within a panel addend by addend. Panel p begins at p * n panels.
  // Zeros fill up the last vector of each.
  HWY_INLINE Side copy_wide(Side from, std::size_t n, std::size_t size) const {
    constexpr std::size_t kAhead = 4;  // addends are scattered in memory: prefetch them
    for (std::size_t i = 0; i < n; ++i) {
      const E *elements = from.at<E>(i), *next = i + kAhead < n ? from.at<E>(i + kAhead) : elements;
      E* panel = memory_ + i * kPanelRows<E>;
      places_[i] = panel;
      for (std::size_t row = 0; row < size; row += kPanelRows<E>, panel += n * kPanelRows<E>) {
        const std::size_t rows = HWY_MIN(kPanelRows<E>, size - row);
        for_lanes<E>(rows, [&](std::size_t at, std::size_t count) DYNET_LIKE_BODY {
          __builtin_prefetch(next + row + at);
          load(elements + row + at, count).store(panel + at);
        });
      }
    }
    return {places_, 0};
  }

  // Copies tile by tile, and within a tile addend by addend. The tile of number c begins at c * n.
  HWY_INLINE Side copy_numbers(const void* const* from, std::size_t n, std::size_t size) const {
    for (std::size_t i = 0; i < n; ++i) {
      const E* numbers = static_cast<const E*>(from[i]);
      E* tile = memory_ + i * kTileColumns;
      places_[i] = tile;
      std::size_t c = 0;
      for (; c + kTileColumns <= size; c += kTileColumns, tile += n * kTileColumns) {
        std::memcpy(tile, numbers + c, kTileColumns * sizeof(E));
      }
      for (std::size_t last = c; c < size; ++c) tile[c - last] = numbers[c];
    }
    return {places_, 0};
  }

 private:
  E* memory_;
  const void** places_;
};

// Some consecutive addends of a call.
template <class E>
struct OuterBlock {
  const OuterProducts& call;
  std::size_t first, n;
  bool fresh;
  E* sum_at(std::size_t row, std::size_t column) const {
    return static_cast<E*>(call.sum) + column * call.rows + row;
  }
  Side dy(std::size_t row) const { return {call.addends.dy + first, row}; }
  Side x(std::size_t column) const { return {call.addends.x + first, column}; }
};

// For rows that do not fill a vector, columns lie along the lanes. The tile's sums are transposed
// before and after. A product of two numbers has the same bits either way.
template <class E>
HWY_INLINE void add_turned(const OuterBlock<E>& block, std::size_t begin, std::size_t end) {
  alignas(64) E tile[kTileColumns * kPanelRows<E>];
  for (std::size_t c = 0; c < block.call.columns; c += kPanelRows<E>) {
    const std::size_t columns = HWY_MIN(kPanelRows<E>, block.call.columns - c);
    for (std::size_t row = begin; row < end; row += kTileColumns) {
      const std::size_t rows = HWY_MIN(std::size_t{kTileColumns}, end - row);
      for (std::size_t k = 0; !block.fresh && k < columns; ++k) {
        const E* from = block.sum_at(row, c + k);
        for (std::size_t r = 0; r < rows; ++r) tile[r * kPanelRows<E> + k] = from[r];
      }
      add_tile<E>({block.x(c), columns, false}, block.dy(row), rows, block.n, block.fresh, tile,
                  kPanelRows<E>);
      for (std::size_t k = 0; k < columns; ++k) {
        E* to = block.sum_at(row, c + k);
        for (std::size_t r = 0; r < rows; ++r) to[r] = tile[r * kPanelRows<E> + k];
      }
    }
  }
}

template <class E>
void add_outer_products(const OuterProducts& call, std::size_t begin, std::size_t end,
                        Workspace& workspace) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  const std::size_t most = HWY_MIN(kAddends, call.addends.n);
  const std::size_t tiles = (call.columns + kTileColumns - 1) / kTileColumns;
  const std::size_t panels = (end - begin + kPanelRows<E> - 1) / kPanelRows<E>;
  const bool copies_dy = tiles >= kWorthCopying<E>, copies_x = panels >= kWorthCopying<E>;
  constexpr std::size_t kCopied = kCopiedBytes / sizeof(E);  // whole panels
  static_assert(kCopied % kPanelRows<E> == 0);
  const Copies<E> of_dy(workspace, copies_dy ? most : 0, kCopied);
  const Copies<E> of_x(workspace, copies_x ? most : 0, tiles * kTileColumns);
  OuterBlock<E> block{call, 0, 0, call.fresh};
  for (; block.first < call.addends.n; block.first += block.n, block.fresh = false) {
    block.n = HWY_MIN(kAddends, call.addends.n - block.first);
    Side x = block.x(0);
    if (copies_x) x = of_x.copy_numbers(x.places, block.n, call.columns);
    Side copied;
    for (std::size_t row = begin; row < end; row += kPanelRows<E>) {
      const std::size_t rows = HWY_MIN(kPanelRows<E>, end - row), at = (row - begin) % kCopied;
      if (Lanes<E>::masks_memory && rows <= kLanes && call.columns > kLanes) {
        add_turned(block, row, end);
        continue;
      }
      if (copies_dy && at == 0) {
        copied = of_dy.copy_wide(block.dy(row), block.n, HWY_MIN(kCopied, end - row));
      }
      const Side side = copies_dy ? Side{copied.places, at * block.n} : block.dy(row);
      const WideSide dy{side, rows, copies_dy};
      for (std::size_t c = 0; c < call.columns; c += kTileColumns) {
        x.begin = copies_x ? c * block.n : c;
        add_tile(dy, x, HWY_MIN(std::size_t{kTileColumns}, call.columns - c), block.n, block.fresh,
                 block.sum_at(row, c), call.rows);
      }
    }
  }
}

// Adds to V vectors of the sum, the last of which has `tail` elements.
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

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like::detail {
HWY_EXPORT(matrix_function_table);
const cpu::MatrixFunctions& cpu::matrix_functions() {
  return *HWY_DYNAMIC_DISPATCH(matrix_function_table)();
}
}  // namespace dynet_like::detail
#endif
