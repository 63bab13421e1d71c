// Cells: the gates' products of some items, then their pointwise part while the sums are in the
// cache. The order of operations of an item is the same in every batch.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/cells.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cell_layouts.h"
#include "dynet_like/device/cpu/affine-inl.h"
#include "dynet_like/device/cpu/deferred-inl.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/math-inl.h"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

// Items at a time: their sums leave room for a group of panels in the second-level cache.
template <class E>
std::size_t items_at_a_time(std::size_t sums) {
  constexpr std::size_t kSumBytes = std::size_t{192} << 10;
  return HWY_MAX(kSumBytes / (sums * sizeof(E)), std::size_t{4 * kTileColumns});
}

// work(items) for [0, n).
template <class E, class Work>
HWY_INLINE void for_chunks(std::size_t n, std::size_t sums, const Work& work) {
  const std::size_t most = items_at_a_time<E>(sums), chunks = (n + most - 1) / most;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const std::size_t first = n * chunk / chunks;
    work(Items{first, n * (chunk + 1) / chunks - first});
  }
}

// Where the sums of an item are, of which there are those of `items` one behind the other.
template <class E>
HWY_INLINE auto sums_of(E* sums, std::size_t rows, Items items) {
  return [=](std::size_t i) { return sums + (i - items.first) * rows; };
}

template <class E>
HWY_INLINE Lanes<E> one_minus(Lanes<E> x) {
  return Lanes<E>(1.0) - x;
}

// ---------------------------------------------------------------------------------------- LSTM

// kChildren < 0: any number.
template <class E, int kChildren>
HWY_INLINE void lstm_item(const ForwardCall& call, const LstmLayout& layout, std::size_t item,
                          const E* sums) {
  const std::size_t children =
      kChildren < 0 ? layout.children : static_cast<std::size_t>(kChildren);
  E* h_out = call.out.at<E>(item);
  E* c_out = h_out + layout.hidden;
  E* saved = nullptr;
  if (call.saved != nullptr) {
    saved = static_cast<E*>(call.saved) + item * (layout.rows + layout.hidden);
  }
  for_lanes<E>(layout.hidden, [&](std::size_t at, std::size_t count) HWY_ATTR {
    const Lanes<E> i = logistic(load(sums + layout.i + at, count));
    const Lanes<E> o = logistic(load(sums + layout.o + at, count));
    const Lanes<E> u = tanh(load(sums + layout.u + at, count));
    Lanes<E> c = i * u;
    for (std::size_t k = 0; k < children; ++k) {
      const std::size_t row = layout.f + k * layout.hidden + at;
      const Lanes<E> f = logistic(load(sums + row, count));
      c = fused(f, load(call.in[1 + k].at<E>(item) + at, count), c);
      if (saved != nullptr) store(f, saved + row, count);
    }
    const Lanes<E> t = tanh(c);
    store(c, c_out + at, count);
    store(o * t, h_out + at, count);
    if (saved == nullptr) return;
    store(i, saved + layout.i + at, count);
    store(o, saved + layout.o + at, count);
    store(u, saved + layout.u + at, count);
    store(t, saved + layout.rows + at, count);
  });
}

template <class E>
void lstm_forward(const ForwardCall& call) {
  const LstmLayout layout(*call.type);
  const Affine map = layout.map(*call.type);
  E* sums =
      call.workspace->elements<E>(HWY_MIN(call.n, items_at_a_time<E>(layout.rows)) * layout.rows);
  for_chunks<E>(call.n, layout.rows, [&](Items items) HWY_ATTR {
    affine<E>(call, map, items, sums_of(sums, layout.rows, items));
    const E* of_item = sums;
    for (std::size_t item = items.first; item < items.first + items.n; ++item) {
      switch (layout.children) {
        case 0:
          lstm_item<E, 0>(call, layout, item, of_item);
          break;
        case 1:
          lstm_item<E, 1>(call, layout, item, of_item);
          break;
        case 2:
          lstm_item<E, 2>(call, layout, item, of_item);
          break;
        default:
          lstm_item<E, -1>(call, layout, item, of_item);
      }
      of_item += layout.rows;
    }
  });
}

// With t = tanh c: do = dh t, dc += dh o (1 - t^2); then through the sum and the nonlinearities.
template <class E, int kChildren>
HWY_INLINE void lstm_item_gradient(const BackwardCall& call, const LstmLayout& layout,
                                   std::size_t item, E* sums) {
  const std::size_t children =
      kChildren < 0 ? layout.children : static_cast<std::size_t>(kChildren);
  const E* dy = call.dy.at<E>(item);
  const E* saved = call.saved.at<E>(item);
  for_lanes<E>(layout.hidden, [&](std::size_t at, std::size_t count) HWY_ATTR {
    const Lanes<E> dh = load(dy + at, count);
    const Lanes<E> i = load(saved + layout.i + at, count), o = load(saved + layout.o + at, count);
    const Lanes<E> u = load(saved + layout.u + at, count);
    const Lanes<E> t = load(saved + layout.rows + at, count);
    const Lanes<E> dc = fused(dh * o, one_minus(t * t), load(dy + layout.hidden + at, count));
    store(dc * u * (i * one_minus(i)), sums + layout.i + at, count);
    store(dh * t * (o * one_minus(o)), sums + layout.o + at, count);
    store(dc * i * one_minus(u * u), sums + layout.u + at, count);
    for (std::size_t k = 0; k < children; ++k) {
      const std::size_t row = layout.f + k * layout.hidden + at;
      const Lanes<E> f = load(saved + row, count);
      const Lanes<E> c = load(call.in[1 + k].at<E>(item) + at, count);
      store(dc * c * (f * one_minus(f)), sums + row, count);
      const Destination& to = call.dx[1 + k];
      if (to.wanted() && to.items[item] != nullptr) {
        put(dc * f, to.at<E>(item) + at, count, to.add[item] != 0);
      }
    }
  });
}

template <class E>
void lstm_backward(const BackwardCall& call) {
  const LstmLayout layout(*call.type);
  const Affine map = layout.map(*call.type);
  const Deferred<E> deferred(call);
  for_chunks<E>(call.n, layout.rows, [&](Items items) HWY_ATTR {
    for (std::size_t item = items.first; item < items.first + items.n; ++item) {
      switch (layout.children) {
        case 0:
          lstm_item_gradient<E, 0>(call, layout, item, deferred(item));
          break;
        case 1:
          lstm_item_gradient<E, 1>(call, layout, item, deferred(item));
          break;
        case 2:
          lstm_item_gradient<E, 2>(call, layout, item, deferred(item));
          break;
        default:
          lstm_item_gradient<E, -1>(call, layout, item, deferred(item));
      }
    }
    affine_gradients<E>(call, map, items, deferred);
  });
}

// ----------------------------------------------------------------------------------------- GRU

template <class E>
HWY_INLINE void gru_item(const ForwardCall& call, const GruLayout& layout, std::size_t item,
                         const E* sums_h, const E* sums_x) {
  const std::size_t hidden = layout.hidden;
  const E* before = call.in[2].at<E>(item);
  E* h_out = call.out.at<E>(item);
  E* saved = nullptr;
  if (call.saved != nullptr) saved = static_cast<E*>(call.saved) + item * 4 * hidden;
  for_lanes<E>(hidden, [&](std::size_t at, std::size_t count) HWY_ATTR {
    const auto sum = [&](std::size_t gate) HWY_ATTR {
      const Lanes<E> of_h = load(sums_h + gate * hidden + at, count);
      return sums_x == nullptr ? of_h : of_h + load(sums_x + gate * hidden + at, count);
    };
    const Lanes<E> r = logistic(sum(0)), z = logistic(sum(1));
    const Lanes<E> inner = load(sums_h + 2 * hidden + at, count);
    Lanes<E> total = r * inner;
    if (sums_x != nullptr) total = total + load(sums_x + 2 * hidden + at, count);
    const Lanes<E> n = tanh(total);
    store(fused(z, load(before + at, count), one_minus(z) * n), h_out + at, count);
    if (saved == nullptr) return;
    store(r, saved + at, count);
    store(z, saved + hidden + at, count);
    store(n, saved + 2 * hidden + at, count);
    store(inner, saved + 3 * hidden + at, count);
  });
}

template <class E>
void gru_forward(const ForwardCall& call) {
  const GruLayout layout(*call.type);
  const std::size_t most = HWY_MIN(call.n, items_at_a_time<E>(2 * layout.rows));
  E* sums_h = call.workspace->elements<E>(most * layout.rows);
  E* sums_x = layout.has_x() ? call.workspace->elements<E>(most * layout.rows) : nullptr;
  for_chunks<E>(call.n, 2 * layout.rows, [&](Items items) HWY_ATTR {
    affine<E>(call, layout.of_h, items, sums_of(sums_h, layout.rows, items));
    if (sums_x != nullptr) {
      affine<E>(call, layout.of_x, items, sums_of(sums_x, layout.rows, items));
    }
    for (std::size_t k = 0; k < items.n; ++k) {
      gru_item(call, layout, items.first + k, sums_h + k * layout.rows,
               sums_x == nullptr ? nullptr : sums_x + k * layout.rows);
    }
  });
}

// h' = (1 - z) n + z h. The gradient of h through z is written here, that through U added to it.
template <class E>
HWY_INLINE void gru_item_gradient(const BackwardCall& call, const GruLayout& layout,
                                  std::size_t item, E* sums_h, E* sums_x, E* dh) {
  const std::size_t hidden = layout.hidden;
  const E *dy = call.dy.at<E>(item), *saved = call.saved.at<E>(item);
  const E* before = call.in[2].at<E>(item);
  for_lanes<E>(hidden, [&](std::size_t at, std::size_t count) HWY_ATTR {
    const Lanes<E> g = load(dy + at, count);
    const Lanes<E> r = load(saved + at, count), z = load(saved + hidden + at, count);
    const Lanes<E> n = load(saved + 2 * hidden + at, count);
    const Lanes<E> inner = load(saved + 3 * hidden + at, count);
    const Lanes<E> dn = g * one_minus(z) * one_minus(n * n);
    const Lanes<E> dz = g * (load(before + at, count) - n) * (z * one_minus(z));
    const Lanes<E> dr = dn * inner * (r * one_minus(r));
    store(dr, sums_h + at, count);
    store(dz, sums_h + hidden + at, count);
    store(dn * r, sums_h + 2 * hidden + at, count);
    if (sums_x != nullptr) {
      store(dr, sums_x + at, count);
      store(dz, sums_x + hidden + at, count);
      store(dn, sums_x + 2 * hidden + at, count);
    }
    if (dh != nullptr) store(g * z, dh + at, count);
  });
}

template <class E>
void gru_backward(const BackwardCall& call) {
  const GruLayout layout(*call.type);
  const Deferred<E> deferred(call);
  const auto of_x = [&](std::size_t i) HWY_ATTR { return deferred(i) + layout.rows; };
  // The gradient of h has two terms: they meet in memory of our own, so that one result is added.
  const Destination& dh = call.dx[2];
  const std::size_t hidden = layout.hidden;
  E* terms = dh.wanted() ? call.workspace->elements<E>(call.n * hidden) : nullptr;
  Destination to[6];
  std::copy_n(call.dx, call.type->inputs.size(), to);
  if (terms != nullptr) {
    void** places = call.workspace->elements<void*>(call.n);
    std::uint8_t* add = call.workspace->elements<std::uint8_t>(call.n);
    for (std::size_t i = 0; i < call.n; ++i) {
      places[i] = dh.items[i] == nullptr ? nullptr : terms + i * hidden;
      add[i] = 1;
    }
    to[2] = {places, add};
  }
  BackwardCall inner = call;
  inner.dx = to;
  for_chunks<E>(call.n, 2 * layout.rows, [&](Items items) HWY_ATTR {
    for (std::size_t i = items.first; i < items.first + items.n; ++i) {
      gru_item_gradient(call, layout, i, deferred(i), layout.has_x() ? of_x(i) : nullptr,
                        terms == nullptr ? nullptr : terms + i * hidden);
    }
    affine_gradients<E>(inner, layout.of_h, items, deferred);
    if (layout.has_x()) affine_gradients<E>(inner, layout.of_x, items, of_x);
    for (std::size_t i = items.first; terms != nullptr && i < items.first + items.n; ++i) {
      if (dh.items[i] == nullptr) continue;
      for_lanes<E>(hidden, [&](std::size_t at, std::size_t count) HWY_ATTR {
        put(load(terms + i * hidden + at, count), dh.at<E>(i) + at, count, dh.add[i] != 0);
      });
    }
  });
}

std::span<const cpu::KernelEntry> cell_table() {
  static const cpu::KernelEntry table[] = {
      {"lstm_cell",
       {{lstm_forward<float>, lstm_forward<double>},
        {lstm_backward<float>, lstm_backward<double>}}},
      {"gru_cell",
       {{gru_forward<float>, gru_forward<double>}, {gru_backward<float>, gru_backward<double>}}}};
  return table;
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like::detail {
HWY_EXPORT(cell_table);
std::span<const cpu::KernelEntry> cpu::cell_kernels() { return HWY_DYNAMIC_DISPATCH(cell_table)(); }
}  // namespace dynet_like::detail
#endif
