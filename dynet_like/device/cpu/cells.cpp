// Cells: the gates' products of some items, then their pointwise part while the sums are still in
// the cache. The order of operations of an item is the same in every batch.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/cells.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cell_layouts.h"
#include "dynet_like/device/cpu/affine-inl.h"
#include "dynet_like/device/cpu/deferred.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/math-inl.h"

#include <algorithm>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

using cpu::Deferred;

// How many items are computed at a time: their sums and a group of panels fit in the L2 cache.
template <class E>
std::size_t items_at_a_time(std::size_t sums) {
  constexpr std::size_t kSumBytes = std::size_t{192} << 10;
  return HWY_MAX(kSumBytes / (sums * sizeof(E)), std::size_t{4 * kTileColumns});
}

// Calls work(items) for chunks of [0, n).
template <class E, class Work>
HWY_INLINE void for_chunks(std::size_t n, std::size_t sums, const Work& work) {
  const std::size_t most = items_at_a_time<E>(sums), chunks = (n + most - 1) / most;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const std::size_t first = n * chunk / chunks;
    work(Items{first, n * (chunk + 1) / chunks - first});
  }
}

// Where the sums of an item lie; those of `items` lie one behind the other.
template <class E>
HWY_INLINE auto sums_of(E* sums, std::size_t rows, Items items) {
  return [=](std::size_t i) { return sums + (i - items.first) * rows; };
}

// Reads and writes the numbers of a cell, one vector of lanes at a time.
struct Here {
  std::size_t at, count;

  template <class E>
  HWY_INLINE Lanes<E> load(const E* from) const {
    return detail::HWY_NAMESPACE::load(from + at, count);
  }
  template <class E>
  HWY_INLINE void store(Lanes<E> x, E* to) const {
    detail::HWY_NAMESPACE::store(x, to + at, count);
  }
  template <class E>
  HWY_INLINE void put(Lanes<E> x, E* to, bool add) const {
    detail::HWY_NAMESPACE::put(x, to + at, count, add);
  }
};

#define LANE HWY_INLINE
#include "dynet_like/device/cell_formulas.h"
#undef LANE

// ---------------------------------------------------------------------------------------- LSTM

// Calls f(children) with an integral constant if the number of children is a usual one.
template <class F>
HWY_INLINE void with_children(unsigned children, const F& f) {
  switch (children) {
    case 0:
      return f(std::integral_constant<unsigned, 0>());
    case 1:
      return f(std::integral_constant<unsigned, 1>());
    case 2:
      return f(std::integral_constant<unsigned, 2>());
    default:
      return f(children);
  }
}

template <class E>
void lstm_begin(const ForwardCall& call) {
  const LstmLayout layout(*call.type);
  affine<E>(call, first_pairs(layout.map(*call.type), early_pairs(call)), {0, call.n},
            [&](std::size_t i) { return call.early.at<E>(i); });
}

template <class E>
void lstm_forward(const ForwardCall& call) {
  const LstmLayout layout(*call.type);
  const Affine map = without_pairs(layout.map(*call.type), early_pairs(call));
  E* sums =
      call.workspace->elements<E>(HWY_MIN(call.n, items_at_a_time<E>(layout.rows)) * layout.rows);
  for_chunks<E>(call.n, layout.rows, [&](Items items) HWY_ATTR {
    affine<E>(call, map, items, sums_of(sums, layout.rows, items), call.early);
    for (std::size_t k = 0; k < items.n; ++k) {
      const std::size_t item = items.first + k;
      const E* const of_item = sums + k * layout.rows;
      E* const out[] = {call.out.at<E>(2 * item), call.out.at<E>(2 * item + 1)};
      E* const saved = item_of(static_cast<E*>(call.saved), item, layout.rows + layout.hidden);
      with_children(layout.children, [&](auto children) HWY_ATTR {
        for_lanes<E>(layout.hidden, [&](std::size_t at, std::size_t count) HWY_ATTR {
          const Here here{at, count};
          const auto sum = [&](unsigned row) DYNET_LIKE_BODY { return here.load(of_item + row); };
          lstm_element(layout, children, here, sum, call.in + 1, item, out, saved);
        });
      });
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
      const E *const dh = call.dy.at<E>(2 * item), *const dc = call.dy.at<E>(2 * item + 1);
      const E* const saved = call.saved.at<E>(item);
      E* const sums = deferred(item);
      with_children(layout.children, [&](auto children) HWY_ATTR {
        for_lanes<E>(layout.hidden, [&](std::size_t at, std::size_t count) HWY_ATTR {
          lstm_gradient(layout, children, Here{at, count}, call.in + 1, call.dx + 1, item, dh, dc,
                        saved, sums);
        });
      });
    }
    affine_gradients<E>(call, map, items, deferred);
  });
}

template <class E>
void lstm_end(const BackwardCall& call) {
  const LstmLayout layout(*call.type);
  affine_gradients<E>(call, layout.map(*call.type), {0, call.n}, Deferred<E>(call));
}

// ----------------------------------------------------------------------------------------- GRU

template <class E>
void gru_begin(const ForwardCall& call) {
  affine<E>(call, GruLayout(*call.type).of_x, {0, call.n},
            [&](std::size_t i) { return call.early.at<E>(i); });
}

template <class E>
void gru_forward(const ForwardCall& call) {
  const GruLayout layout(*call.type);
  const unsigned hidden = layout.hidden;
  const std::size_t most = HWY_MIN(call.n, items_at_a_time<E>(2 * layout.rows));
  E* sums_h = call.workspace->elements<E>(most * layout.rows);
  const bool is_early = call.early_inputs != 0;
  E* sums_x =
      layout.has_x() && !is_early ? call.workspace->elements<E>(most * layout.rows) : nullptr;
  for_chunks<E>(call.n, 2 * layout.rows, [&](Items items) HWY_ATTR {
    affine<E>(call, layout.of_h, items, sums_of(sums_h, layout.rows, items));
    if (sums_x != nullptr) {
      affine<E>(call, layout.of_x, items, sums_of(sums_x, layout.rows, items));
    }
    for (std::size_t k = 0; k < items.n; ++k) {
      const std::size_t item = items.first + k;
      const E *const before = call.in[2].at<E>(item), *const of_item = sums_h + k * layout.rows;
      const E* const x_of_item =
          is_early ? call.early.at<E>(item) : item_of(sums_x, k, layout.rows);
      E* const out = call.out.at<E>(item);
      E* const saved = item_of(static_cast<E*>(call.saved), item, 4 * hidden);
      for_lanes<E>(hidden, [&](std::size_t at, std::size_t count) HWY_ATTR {
        const Here here{at, count};
        const auto of_h = [&](unsigned gate)
                              DYNET_LIKE_BODY { return here.load(of_item + gate * hidden); };
        const auto of_x = [&](unsigned gate)
                              DYNET_LIKE_BODY { return here.load(x_of_item + gate * hidden); };
        gru_element(hidden, here, of_h, of_x, x_of_item != nullptr, before, out, saved);
      });
    }
  });
}

template <class E>
void gru_backward(const BackwardCall& call) {
  const GruLayout layout(*call.type);
  const Deferred<E> deferred(call);
  const auto of_x = [&](std::size_t i) HWY_ATTR { return deferred(i) + layout.rows; };
  // The gradient of h has two terms, through z and through U. They are summed in workspace memory,
  // so that one result is added to the destination.
  const Destination& dh = call.dx[2];
  const unsigned hidden = layout.hidden;
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
      const E *const before = call.in[2].at<E>(i), *const dy = call.dy.at<E>(i);
      const E* const saved = call.saved.at<E>(i);
      E *const through_z = item_of(terms, i, hidden), *const sums_h = deferred(i);
      E* const sums_x = layout.has_x() ? of_x(i) : nullptr;
      for_lanes<E>(hidden, [&](std::size_t at, std::size_t count) HWY_ATTR {
        gru_gradient(hidden, Here{at, count}, before, dy, saved, sums_h, sums_x, through_z);
      });
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

template <class E>
void gru_end(const BackwardCall& call) {
  const GruLayout layout(*call.type);
  const Deferred<E> deferred(call);
  affine_gradients<E>(call, layout.of_x, {0, call.n},
                      [&](std::size_t i) { return deferred(i) + layout.rows; });
}

std::vector<KernelEntry> cell_kernels() {
  return {{"lstm_cell",
           {{lstm_forward<float>, lstm_forward<double>},
            {lstm_backward<float>, lstm_backward<double>},
            {lstm_begin<float>, lstm_begin<double>},
            {lstm_end<float>, lstm_end<double>}}},
          {"gru_cell",
           {{gru_forward<float>, gru_forward<double>},
            {gru_backward<float>, gru_backward<double>},
            {gru_begin<float>, gru_begin<double>},
            {gru_end<float>, gru_end<double>}}}};
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
