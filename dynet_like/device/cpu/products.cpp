// Products on the CPU: W x for many columns x, its gradients, inner products and distances.
//
// Every output element is one chain of fused multiply-adds in a fixed order that depends on the
// shapes alone, so that a column has the same bits whatever it is batched with.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/products.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/lanes-inl.h"
#include "dynet_like/device/cpu/kernel_table.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::HWY_NAMESPACE {

// The pairs (W, x) of a product or an affine map: `first` is 1 where input 0 is a bias.
struct Products {
  std::size_t first, pairs, rows, columns;
  explicit Products(const Signature& type)
      : first(type.inputs.size() % 2),
        pairs(type.inputs.size() / 2),
        rows(type.output.rows()),
        columns(type.output.cols()) {}
};

// A tile of V vectors of rows times C columns: acc += W[rows, :] x[:, columns], over all k.
template <class E, int V, int C>
HWY_INLINE void multiply_tile(const E* w, std::size_t stride, std::size_t k_count,
                              const E* const* x, Lanes<E> (&acc)[V][C]) {
  for (std::size_t k = 0; k < k_count; ++k) {
    Lanes<E> column[V];
    for (int v = 0; v < V; ++v) column[v] = Lanes<E>::load(w + k * stride + v * Lanes<E>::size);
    for (int c = 0; c < C; ++c) {
      const Lanes<E> factor(hn::Set(typename Lanes<E>::Tag(), x[c][k]));
      for (int v = 0; v < V; ++v) acc[v][c] = fused(column[v], factor, acc[v][c]);
    }
  }
}

// The last rows that do not fill a vector: the same chains in masked lanes.
template <class E, int C>
HWY_INLINE void multiply_tail(const E* w, std::size_t stride, std::size_t k_count,
                              const E* const* x, std::size_t count, Lanes<E> (&acc)[1][C]) {
  for (std::size_t k = 0; k < k_count; ++k) {
    const Lanes<E> column = Lanes<E>::load(w + k * stride, count);
    for (int c = 0; c < C; ++c) {
      const Lanes<E> factor(hn::Set(typename Lanes<E>::Tag(), x[c][k]));
      acc[0][c] = fused(column, factor, acc[0][c]);
    }
  }
}

// What one block of columns needs: per pair its weights and column pointers, and the results.
template <class E, int C>
struct Block {
  const Products& shape;
  const E* const* weights;      // per pair
  const std::size_t* k_counts;  // per pair
  const E* (*x)[C];             // per pair and column
  const E* bias[C];             // null without bias
  E* out[C];

  template <int V>
  HWY_INLINE void finish(Lanes<E> (&acc)[V][C], std::size_t row, std::size_t count) const {
    for (int v = 0; v < V; ++v) {
      for (int c = 0; c < C; ++c) {
        const std::size_t at = row + v * Lanes<E>::size;
        if (bias[c] != nullptr) acc[v][c] = acc[v][c] + load(bias[c] + at, count);
        store(acc[v][c], out[c] + at, count);
      }
    }
  }

  template <int V>
  HWY_INLINE void rows(std::size_t row, std::size_t count) const {
    Lanes<E> acc[V][C];
    for (auto& vector : acc) {
      for (auto& lanes : vector) lanes = Lanes<E>(0.0);
    }
    for (std::size_t p = 0; p < shape.pairs; ++p) {
      if (count == Lanes<E>::size) {
        multiply_tile<E, V, C>(weights[p] + row, shape.rows, k_counts[p], x[p], acc);
      } else if constexpr (V == 1) {
        multiply_tail<E, C>(weights[p] + row, shape.rows, k_counts[p], x[p], count, acc);
      }
    }
    finish(acc, row, count);
  }

  HWY_INLINE void run() const {
    constexpr std::size_t kLanes = Lanes<E>::size;
    std::size_t row = 0;
    for (; row + 4 * kLanes <= shape.rows; row += 4 * kLanes) rows<4>(row, kLanes);
    for (; row + kLanes <= shape.rows; row += kLanes) rows<1>(row, kLanes);
    if (row < shape.rows) rows<1>(row, shape.rows - row);
  }
};

constexpr std::size_t kMostPairs = 16;

// The columns [begin, begin + C) of the batch, counted over items; all have the same weights.
template <class E, int C>
void multiply_block(const ForwardCall& call, const Products& shape, const E* const* weights,
                    const std::size_t* k_counts, std::size_t begin) {
  const E* x[kMostPairs][C];
  Block<E, C> block{shape, weights, k_counts, x, {}, {}};
  for (int c = 0; c < C; ++c) {
    const std::size_t item = (begin + c) / shape.columns, column = (begin + c) % shape.columns;
    for (std::size_t p = 0; p < shape.pairs; ++p) {
      x[p][c] = call.in[shape.first + 2 * p + 1].at<E>(item) + column * k_counts[p];
    }
    block.out[c] = static_cast<E*>(call.out) + (begin + c) * shape.rows;
    if (shape.first == 1) {
      const bool per_column = call.type->inputs[0].cols() == shape.columns;
      block.bias[c] = call.in[0].at<E>(item) + (per_column ? column * shape.rows : 0);
    }
  }
  block.run();
}

template <class E>
void multiply_columns(const ForwardCall& call, const Products& shape, const E* const* weights,
                      const std::size_t* k_counts, std::size_t begin, std::size_t end) {
  for (; begin + 6 <= end; begin += 6) multiply_block<E, 6>(call, shape, weights, k_counts, begin);
  for (; begin + 2 <= end; begin += 2) multiply_block<E, 2>(call, shape, weights, k_counts, begin);
  for (; begin < end; ++begin) multiply_block<E, 1>(call, shape, weights, k_counts, begin);
}

template <class E>
void product_forward(const ForwardCall& call) {
  const Products shape(*call.type);
  const E* weights[kMostPairs];
  std::size_t k_counts[kMostPairs];
  bool all_shared = true;
  for (std::size_t p = 0; p < shape.pairs; ++p) {
    k_counts[p] = call.type->inputs[shape.first + 2 * p].cols();
    all_shared = all_shared && call.in[shape.first + 2 * p].shared != nullptr;
  }
  const std::size_t group = all_shared ? call.n : 1;  // items with the same weights
  for (std::size_t item = 0; item < call.n; item += group) {
    for (std::size_t p = 0; p < shape.pairs; ++p) {
      weights[p] = call.in[shape.first + 2 * p].at<E>(item);
    }
    multiply_columns(call, shape, weights, k_counts, item * shape.columns,
                     (item + group) * shape.columns);
  }
}

// The inner product of two vectors: four chains of vectors, then a sum in fixed order.
template <class E>
HWY_INLINE E inner_product(const E* a, const E* b, std::size_t n) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  Lanes<E> acc[4] = {Lanes<E>(0.0), Lanes<E>(0.0), Lanes<E>(0.0), Lanes<E>(0.0)};
  std::size_t at = 0;
  for (; at + 4 * kLanes <= n; at += 4 * kLanes) {
    for (int v = 0; v < 4; ++v) {
      acc[v] =
          fused(Lanes<E>::load(a + at + v * kLanes), Lanes<E>::load(b + at + v * kLanes), acc[v]);
    }
  }
  for (; at < n; at += kLanes) {
    const std::size_t count = HWY_MIN(kLanes, n - at);
    acc[0] = fused(load(a + at, count), load(b + at, count), acc[0]);
  }
  return ((acc[0] + acc[1]) + (acc[2] + acc[3])).sum();
}

// dx[k] = sum over m of W[m, k] dy[m], for C columns at once so that W is read once.
template <class E, int C>
HWY_INLINE void transposed_product(const E* w, std::size_t rows, std::size_t k_count,
                                   const E* const* dy, E* const* dx, const bool* add) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  for (std::size_t k = 0; k < k_count; ++k, w += rows) {
    Lanes<E> acc[C];
    for (auto& lanes : acc) lanes = Lanes<E>(0.0);
    std::size_t m = 0;
    for (; m + kLanes <= rows; m += kLanes) {
      const Lanes<E> column = Lanes<E>::load(w + m);
      for (int c = 0; c < C; ++c) acc[c] = fused(column, Lanes<E>::load(dy[c] + m), acc[c]);
    }
    if (m < rows) {
      const Lanes<E> column = load(w + m, rows - m);
      for (int c = 0; c < C; ++c) acc[c] = fused(column, load(dy[c] + m, rows - m), acc[c]);
    }
    for (int c = 0; c < C; ++c) put(acc[c].sum(), dx[c] + k, add[c]);
  }
}

// Gradients of the right sides: columns are collected until there are enough for a block.
template <class E>
void right_gradient(const BackwardCall& call, const Products& shape, std::size_t input) {
  constexpr int kColumns = 8;
  const std::size_t k_count = call.type->inputs[input].rows();
  const bool shared = call.in[input - 1].shared != nullptr;
  const E *w = nullptr, *dy[kColumns];
  E* dx[kColumns];
  bool add[kColumns];
  int filled = 0;
  const auto flush = [&]() HWY_ATTR {
    if (filled == kColumns) {
      transposed_product<E, kColumns>(w, shape.rows, k_count, dy, dx, add);
    } else {
      for (int c = 0; c < filled; ++c) {
        transposed_product<E, 1>(w, shape.rows, k_count, dy + c, dx + c, add + c);
      }
    }
    filled = 0;
  };
  for (std::size_t i = 0; i < call.n; ++i) {
    E* to = call.dx[input].at<E>(i);
    if (to == nullptr) continue;
    if (!shared) flush();
    w = call.in[input - 1].at<E>(i);
    for (std::size_t column = 0; column < shape.columns; ++column) {
      dy[filled] = call.dy.at<E>(i) + column * shape.rows;
      dx[filled] = to + column * k_count;
      add[filled++] = call.dx[input].add[i] != 0;
      if (filled == kColumns) flush();
    }
  }
  flush();
}

// dW = dy x' of one item, for weights that are not shared: chains over the item's columns.
template <class E>
void left_gradient(const BackwardCall& call, const Products& shape, std::size_t input) {
  const std::size_t k_count = call.type->inputs[input].cols();
  for (std::size_t i = 0; i < call.n; ++i) {
    E* to = call.dx[input].at<E>(i);
    if (to == nullptr) continue;
    const bool add = call.dx[input].add[i] != 0;
    const E *dy = call.dy.at<E>(i), *x = call.in[input + 1].at<E>(i);
    for (std::size_t k = 0; k < k_count; ++k) {
      for_lanes<E>(shape.rows, [&](std::size_t at, std::size_t count) HWY_ATTR {
        Lanes<E> acc(0.0);
        for (std::size_t c = 0; c < shape.columns; ++c) {
          const Lanes<E> factor(static_cast<double>(x[c * k_count + k]));
          acc = fused(load(dy + c * shape.rows + at, count), factor, acc);
        }
        put(acc, to + k * shape.rows + at, count, add);
      });
    }
  }
}

// A bias that is not shared gets dy, added over the columns if it has only one.
template <class E>
void bias_gradient(const BackwardCall& call, const Products& shape) {
  const std::size_t size = call.type->inputs[0].size();
  const std::size_t repeats = shape.rows * shape.columns / size;
  for (std::size_t i = 0; i < call.n; ++i) {
    E* to = call.dx[0].at<E>(i);
    if (to == nullptr) continue;
    for_lanes<E>(size, [&](std::size_t at, std::size_t count) HWY_ATTR {
      Lanes<E> acc = load(call.dy.at<E>(i) + at, count);
      for (std::size_t r = 1; r < repeats; ++r) {
        acc = acc + load(call.dy.at<E>(i) + r * size + at, count);
      }
      put(acc, to + at, count, call.dx[0].add[i] != 0);
    });
  }
}

template <class E>
void product_backward(const BackwardCall& call) {
  const Products shape(*call.type);
  if (shape.first == 1 && call.dx[0].wanted()) bias_gradient<E>(call, shape);
  for (std::size_t p = 0; p < shape.pairs; ++p) {
    const std::size_t left = shape.first + 2 * p;
    if (call.dx[left].wanted()) left_gradient<E>(call, shape, left);
    if (call.dx[left + 1].wanted()) right_gradient<E>(call, shape, left + 1);
  }
}

template <class E>
void dot_product_forward(const ForwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    static_cast<E*>(call.out)[i] =
        inner_product(call.in[0].at<E>(i), call.in[1].at<E>(i), call.type->inputs[0].size());
  }
}

template <class E>
void dot_product_backward(const BackwardCall& call) {
  for (int j = 0; j < 2; ++j) {
    for (std::size_t i = 0; call.dx[j].wanted() && i < call.n; ++i) {
      E* to = call.dx[j].at<E>(i);
      if (to == nullptr) continue;
      const Lanes<E> dy(static_cast<double>(*call.dy.at<E>(i)));
      const E* other = call.in[1 - j].at<E>(i);
      for_lanes<E>(call.type->inputs[0].size(), [&](std::size_t at, std::size_t count) HWY_ATTR {
        put(load(other + at, count) * dy, to + at, count, call.dx[j].add[i] != 0);
      });
    }
  }
}

template <class E>
void squared_distance_forward(const ForwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    const E *a = call.in[0].at<E>(i), *b = call.in[1].at<E>(i);
    Lanes<E> total(0.0);
    for_lanes<E>(call.type->inputs[0].size(), [&](std::size_t at, std::size_t count) HWY_ATTR {
      const Lanes<E> difference = load(a + at, count) - load(b + at, count);
      total = fused(difference, difference, total);
    });
    static_cast<E*>(call.out)[i] = total.sum();
  }
}

template <class E>
void squared_distance_backward(const BackwardCall& call) {
  for (int j = 0; j < 2; ++j) {
    for (std::size_t i = 0; call.dx[j].wanted() && i < call.n; ++i) {
      E* to = call.dx[j].at<E>(i);
      if (to == nullptr) continue;
      const Lanes<E> dy(2.0 * static_cast<double>(*call.dy.at<E>(i)));
      const E *x = call.in[j].at<E>(i), *other = call.in[1 - j].at<E>(i);
      for_lanes<E>(call.type->inputs[0].size(), [&](std::size_t at, std::size_t count) HWY_ATTR {
        put((load(x + at, count) - load(other + at, count)) * dy, to + at, count,
            call.dx[j].add[i] != 0);
      });
    }
  }
}

// A tile of V vectors of rows times C columns of the sum, over all n outer products.
template <class E, int V, int C>
HWY_INLINE void outer_tile(E* sum, std::size_t rows, std::size_t row, std::size_t column,
                           std::size_t count, const void* const* dy, const void* const* x,
                           std::size_t n) {
  Lanes<E> acc[C][V];
  for (int c = 0; c < C; ++c) {
    for (int v = 0; v < V; ++v) {
      acc[c][v] = load(sum + (column + c) * rows + row + v * Lanes<E>::size, count);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    const E* from = static_cast<const E*>(dy[i]) + row;
    const E* factors = static_cast<const E*>(x[i]) + column;
    Lanes<E> vectors[V];
    for (int v = 0; v < V; ++v) vectors[v] = load(from + v * Lanes<E>::size, count);
    for (int c = 0; c < C; ++c) {
      const Lanes<E> factor(hn::Set(typename Lanes<E>::Tag(), factors[c]));
      for (int v = 0; v < V; ++v) acc[c][v] = fused(vectors[v], factor, acc[c][v]);
    }
  }
  for (int c = 0; c < C; ++c) {
    for (int v = 0; v < V; ++v) {
      store(acc[c][v], sum + (column + c) * rows + row + v * Lanes<E>::size, count);
    }
  }
}

template <class E, int V>
HWY_INLINE void outer_rows(E* sum, std::size_t rows, std::size_t row, std::size_t columns,
                           std::size_t count, const void* const* dy, const void* const* x,
                           std::size_t n) {
  std::size_t c = 0;
  for (; c + 6 <= columns; c += 6) outer_tile<E, V, 6>(sum, rows, row, c, count, dy, x, n);
  for (; c < columns; ++c) outer_tile<E, V, 1>(sum, rows, row, c, count, dy, x, n);
}

template <class E>
void add_outer_products(void* sum, std::size_t rows, std::size_t begin, std::size_t end,
                        std::size_t columns, const void* const* dy, const void* const* x,
                        std::size_t n) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  constexpr std::size_t kBlock = 256;  // addends that stay in the cache for all tiles
  for (std::size_t first = 0; first < n; first += kBlock) {
    const std::size_t block = HWY_MIN(kBlock, n - first);
    const void *const *dys = dy + first, *const *xs = x + first;
    std::size_t row = begin;
    E* to = static_cast<E*>(sum);
    for (; row + 4 * kLanes <= end; row += 4 * kLanes) {
      outer_rows<E, 4>(to, rows, row, columns, kLanes, dys, xs, block);
    }
    for (; row + kLanes <= end; row += kLanes) {
      outer_rows<E, 1>(to, rows, row, columns, kLanes, dys, xs, block);
    }
    if (row < end) outer_rows<E, 1>(to, rows, row, columns, end - row, dys, xs, block);
  }
}

template <class E>
void add_all(void* sum, std::size_t begin, std::size_t end, const void* const* dy, std::size_t n) {
  E* to = static_cast<E*>(sum) + begin;
  for_lanes<E>(end - begin, [&](std::size_t at, std::size_t count) HWY_ATTR {
    Lanes<E> acc = load(to + at, count);
    for (std::size_t i = 0; i < n; ++i) {
      acc = acc + load(static_cast<const E*>(dy[i]) + begin + at, count);
    }
    store(acc, to + at, count);
  });
}

std::span<const cpu::KernelEntry> product_table() {
  static const Kernels product = {{product_forward<float>, product_forward<double>},
                                  {product_backward<float>, product_backward<double>}};
  static const cpu::KernelEntry table[] = {
      {"matrix_product", product},
      {"affine_transform", product},
      {"dot_product",
       {{dot_product_forward<float>, dot_product_forward<double>},
        {dot_product_backward<float>, dot_product_backward<double>}}},
      {"squared_distance",
       {{squared_distance_forward<float>, squared_distance_forward<double>},
        {squared_distance_backward<float>, squared_distance_backward<double>}}}};
  return table;
}

const cpu::Accumulators* accumulator_table() {
  static const cpu::Accumulators table = {{add_outer_products<float>, add_outer_products<double>},
                                          {add_all<float>, add_all<double>}};
  return &table;
}

}  // namespace dynet_like::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like {
HWY_EXPORT(product_table);
HWY_EXPORT(accumulator_table);
std::span<const cpu::KernelEntry> cpu::product_kernels() {
  return HWY_DYNAMIC_DISPATCH(product_table)();
}
const cpu::Accumulators& cpu::accumulators() { return *HWY_DYNAMIC_DISPATCH(accumulator_table)(); }
}  // namespace dynet_like
#endif
