// Attention on the CPU: queries that read the same keys and values run together.
//
// Scores of all keys lie along the lanes, so keys and values are transposed first. Every sum over
// rows, keys or a node's queries is one chain in their order.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/attention.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/core/philox.h"
#include "dynet_like/device/cpu/dropout-inl.h"
#include "dynet_like/device/cpu/column_sums.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/math-inl.h"
#include "dynet_like/device/cpu/packing-inl.h"
#include "dynet_like/device/cpu/reduce-inl.h"
#include "dynet_like/device/cpu/softmax_items.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

// The sizes that the type gives, and functions for an item.
template <class E>
struct AttentionShape {
  explicit AttentionShape(const Signature& type)
      : heads(type.attributes[0]),
        key_rows(type.inputs[0].size()),
        value_rows(type.output_size),
        key_head(key_rows / heads),
        value_head(value_rows / heads),
        scale(static_cast<E>(1 / std::sqrt(static_cast<double>(key_head)))) {}

  std::size_t heads, key_rows, value_rows, key_head, value_head;
  E scale;
};
struct SeenKeys {
  template <class Call>
  SeenKeys(const Call& call, std::size_t item)
      : SeenKeys(call.integers + item * call.type->integers) {}
  explicit SeenKeys(const std::uint32_t* integers)
      : all(integers[0]), first(integers[1]), end(integers[2]) {}
  bool operator==(const SeenKeys&) const = default;

  std::size_t all, first, end;
};

// The end of the items from `begin` on that read the same keys and values and write one gradient.
template <class Call>
std::size_t end_of_readers(const Call& call, std::size_t begin, const Destination* dx) {
  const auto same = [&](std::size_t i) {
    for (int j = 1; j <= 2; ++j) {
      if (call.in[j].template at<void>(i) != call.in[j].template at<void>(begin)) return false;
      if (dx == nullptr || !dx[j].wanted()) continue;
      if (dx[j].items[i] != dx[j].items[begin]) return false;
    }
    return SeenKeys(call, i).all == SeenKeys(call, begin).all;
  };
  std::size_t end = begin + 1;
  while (end < call.n && same(end)) ++end;
  return end;
}

// The number of queries that run side by side: a single one would wait for its own sums.
constexpr int kAbreast = 4;

// Calls f(begin, count) for the queries from `begin` to `end` - 1, with kAbreast or 1 of them at a
// time; `count` is an integral constant. Queries that run side by side see the same keys.
template <class Call, class F>
HWY_INLINE void for_queries(const Call& call, std::size_t begin, std::size_t end, const F& f) {
  const auto see_the_same = [&](std::size_t i) {
    for (std::size_t k = i + 1; k < i + kAbreast; ++k) {
      if (SeenKeys(call, k) != SeenKeys(call, i)) return false;
    }
    return true;
  };
  while (begin < end) {
    if (begin + kAbreast <= end && see_the_same(begin)) {
      f(begin, std::integral_constant<int, kAbreast>());
      begin += kAbreast;
    } else {
      f(begin, std::integral_constant<int, 1>());
      ++begin;
    }
  }
}

// combine_rows for kVectors vectors of each row.
template <int kItems, int kVectors, class E, class Weights, class F>
HWY_INLINE void combine_vectors(const Weights& weights, std::size_t n, const E* rows,
                                std::size_t stride, std::size_t at, const F& f) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  Lanes<E> sums[kItems][kVectors];
  for (int i = 0; i < kItems; ++i) {
    for (int v = 0; v < kVectors; ++v) sums[i][v] = Lanes<E>(0.0);
  }
  for (std::size_t k = 0; k < n; ++k) {
    Lanes<E> row[kVectors];
    for (int v = 0; v < kVectors; ++v) row[v] = Lanes<E>::load(rows + k * stride + at + v * kLanes);
    for (int i = 0; i < kItems; ++i) {
      const Lanes<E> weight(static_cast<double>(weights(i)[k]));
      for (int v = 0; v < kVectors; ++v) sums[i][v] = fused(weight, row[v], sums[i][v]);
    }
  }
  for (int i = 0; i < kItems; ++i) {
    for (int v = 0; v < kVectors; ++v) f(i, at + v * kLanes, kLanes, sums[i][v]);
  }
}

// Calls f(i, at, count, sum) for the items i below kItems, where sum is the sum of weights(i)[k] *
// rows[k * stride + at...] over k from 0 to n - 1. Covers rows of `width` elements.
template <int kItems, class E, class Weights, class F>
HWY_INLINE void combine_rows(const Weights& weights, std::size_t n, const E* rows,
                             std::size_t stride, std::size_t width, const F& f) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  constexpr int kMost = kItems == 1 ? 4 : 2;
  std::size_t at = 0;
  for (; at + kMost * kLanes <= width; at += kMost * kLanes) {
    combine_vectors<kItems, kMost>(weights, n, rows, stride, at, f);
  }
  for (; at + kLanes <= width; at += kLanes) {
    combine_vectors<kItems, 1>(weights, n, rows, stride, at, f);
  }
  if (at == width) return;
  for (int i = 0; i < kItems; ++i) {
    Lanes<E> sum(0.0);
    for (std::size_t k = 0; k < n; ++k) {
      const Lanes<E> weight(static_cast<double>(weights(i)[k]));
      sum = fused(weight, load(rows + k * stride + at, width - at), sum);
    }
    f(i, at, width - at, sum);
  }
}

template <class E>
std::size_t padded(std::size_t n) {
  return (n + Lanes<E>::size - 1) / Lanes<E>::size * Lanes<E>::size;
}

// The scores of all keys for one head of kItems queries: one row of `stride` elements per query.
template <int kItems, class E, class Query>
HWY_INLINE void find_scores(const AttentionShape<E>& shape, const Query& query,
                            const E* transposed_keys, std::size_t stride, E* scores) {
  const Lanes<E> scale(static_cast<double>(shape.scale));
  combine_rows<kItems>(query, shape.key_head, transposed_keys, stride, stride,
                       [&](int i, std::size_t at, std::size_t count, Lanes<E> sum)
                           HWY_ATTR { store(sum * scale, scores + i * stride + at, count); });
}

// Turns the scores of n keys into e^(s - max) and returns their sum; `top` is set to the maximum.
template <class E>
HWY_INLINE Lanes<E> exponentiate(E* scores, std::size_t n, Lanes<E>& top) {
  const Row<E> row{n};
  top =
      row.template reduce<Maximum>([&]<class T>(std::size_t at, std::size_t count)
                                       DYNET_LIKE_BODY { return load_as<T>(scores + at, count); });
  return row.template reduce<Sum>([&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    const T term = exp_of_negative(load_as<T>(scores + at, count) - T(top));
    store(term, scores + at, count);
    return term;
  });
}

// The transpose of n columns, each row followed by zeros up to `stride`.
template <class E, class Call>
E* transposed(const Call& call, const E* columns, std::size_t rows, std::size_t n,
              std::size_t stride) {
  E* const to = call.workspace->template elements<E>(rows * stride);
  transpose_columns(columns, rows, n, stride, to);
  for (std::size_t r = 0; r < rows; ++r)
    std::fill(to + r * stride + n, to + (r + 1) * stride, E(0));
  return to;
}

// The keys of an item, transposed.
template <class E, class Call>
E* transposed_keys(const Call& call, const AttentionShape<E>& shape, std::size_t i, std::size_t n,
                   std::size_t stride) {
  return transposed(call, call.in[1].template at<E>(i), shape.key_rows, n, stride);
}

// dscore = scale p (dp - sum p dp) for n keys. On entry p holds scores and ds holds dp.
template <class E>
HWY_INLINE void score_gradients(const AttentionShape<E>& shape, std::size_t n, E log_sum, E* p,
                                E* ds) {
  const Row<E> row{n};
  const Lanes<E> log(static_cast<double>(log_sum)), scale(static_cast<double>(shape.scale));
  const Lanes<E> mean =
      row.template reduce<Sum>([&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
        const T probability = exp(load_as<T>(p + at, count) - T(log));
        store(probability, p + at, count);
        return probability * load_as<T>(ds + at, count);
      });
  row.each([&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    const T difference = load_as<T>(ds + at, count) - T(mean);
    store(T(scale) * (load_as<T>(p + at, count) * difference), ds + at, count);
  });
}

// Drops weights of one head of a query, where the op does so. They begin at the first key that the
// query sees.
template <class E, class Call>
HWY_INLINE void drop_weights(const Call& call, std::size_t item, std::size_t head,
                             const SeenKeys& seen, E* weights) {
  if (call.type->op->numbers.reals == 0) return;
  const std::uint32_t* const integers = call.integers + item * call.type->integers;
  const std::size_t block = integers[5] + head * ((seen.all + 3) / 4);
  const std::uint32_t words[kRandomIntegers] = {integers[3], integers[4], 0,
                                                static_cast<std::uint32_t>(4 * block + seen.first)};
  drop(words, static_cast<const E*>(call.reals)[item], weights, weights, seen.end - seen.first,
       false);
}

// One head of kItems queries from `begin` on, all of which see the same keys.
template <int kItems, class E>
HWY_INLINE void attend(const ForwardCall& call, const AttentionShape<E>& shape, std::size_t begin,
                       std::size_t head, const E* transposed_keys, std::size_t stride, E* scores) {
  const SeenKeys seen(call, begin);
  const std::size_t count = seen.end - seen.first, first_row = head * shape.value_head;
  find_scores<kItems>(
      shape, [&](int i) { return call.in[0].at<E>(begin + i) + head * shape.key_head; },
      transposed_keys + head * shape.key_head * stride, stride, scores);
  Lanes<E> factors[kItems];
  for (int i = 0; i < kItems; ++i) {
    Lanes<E> top;
    const Lanes<E> sum = exponentiate(scores + i * stride + seen.first, count, top);
    factors[i] = Lanes<E>(1) / sum;
    drop_weights(call, begin + i, head, seen, scores + i * stride + seen.first);
    if (call.saved == nullptr) continue;
    const Lanes<E> log_sum = top + log(sum);
    log_sum.store(static_cast<E*>(call.saved) + (begin + i) * shape.heads + head, 1);
  }
  E* out[kItems];
  for (int i = 0; i < kItems; ++i) out[i] = call.out.at<E>(begin + i) + first_row;
  combine_rows<kItems>([&](int i) { return scores + i * stride + seen.first; }, count,
                       call.in[2].at<E>(begin) + seen.first * shape.value_rows + first_row,
                       shape.value_rows, shape.value_head,
                       [&](int i, std::size_t at, std::size_t width, Lanes<E> y)
                           HWY_ATTR { store(y * factors[i], out[i] + at, width); });
}

template <class E>
void attention_forward(const ForwardCall& call) {
  const AttentionShape<E> shape(*call.type);
  for (std::size_t begin = 0, end = 0; begin < call.n; begin = end) {
    end = end_of_readers(call, begin, nullptr);
    const std::size_t keys = SeenKeys(call, begin).all, stride = padded<E>(keys);
    E* const transposed = transposed_keys(call, shape, begin, keys, stride);
    E* const scores = call.workspace->elements<E>(kAbreast * stride);
    for (std::size_t head = 0; head < shape.heads; ++head) {
      for_queries(call, begin, end, [&](std::size_t i, auto items) HWY_ATTR {
        attend<items()>(call, shape, i, head, transposed, stride, scores);
      });
    }
  }
}

// One head of the queries [begin, end), which read the same keys. Probabilities and gradients of
// scores are matrices with a row of `stride` elements for each query.
template <class E>
struct HeadGradients {
  const BackwardCall& call;
  const AttentionShape<E>& shape;
  std::size_t begin, end, stride, head;
  E *probabilities, *scores;

  const E* query(std::size_t i) const { return call.in[0].at<E>(i) + head * shape.key_head; }
  const E* dy(std::size_t i) const { return call.dy.at<E>(i) + head * shape.value_head; }

  void find(const E* transposed_keys, const E* transposed_values) {
    for_queries(call, begin, end, [&](std::size_t i, auto items) HWY_ATTR {
      E *const p = probabilities + (i - begin) * stride, *const ds = scores + (i - begin) * stride;
      find_scores<items()>(
          shape, [&](int k) { return query(i + k); },
          transposed_keys + head * shape.key_head * stride, stride, p);
      combine_rows<items()>([&](int k) { return dy(i + k); }, shape.value_head,
                            transposed_values + head * shape.value_head * stride, stride, stride,
                            [&](int k, std::size_t at, std::size_t count, Lanes<E> dp)
                                HWY_ATTR { store(dp, ds + k * stride + at, count); });
      for (int k = 0; k < items(); ++k) find_one(i + k, p + k * stride, ds + k * stride);
    });
  }

  // On entry p holds scores and ds holds dp = v dy. Dropout applies to dp, and to the weights p of
  // values.
  void find_one(std::size_t i, E* p, E* ds) {
    const SeenKeys seen(call, i);
    drop_weights(call, i, head, seen, ds + seen.first);
    score_gradients(shape, seen.end - seen.first, call.saved.at<E>(i)[head], p + seen.first,
                    ds + seen.first);
    drop_weights(call, i, head, seen, p + seen.first);
  }

  void put_queries() const {
    if (!call.dx[0].wanted()) return;
    const std::size_t first_row = head * shape.key_head;
    for_queries(call, begin, end, [&](std::size_t i, auto items) HWY_ATTR {
      const SeenKeys seen(call, i);
      combine_rows<items()>([&](int k) { return scores + (i + k - begin) * stride + seen.first; },
                            seen.end - seen.first,
                            call.in[1].at<E>(i) + seen.first * shape.key_rows + first_row,
                            shape.key_rows, shape.key_head,
                            [&](int k, std::size_t at, std::size_t count, Lanes<E> sum) HWY_ATTR {
                              E* const to = call.dx[0].at<E>(i + k);
                              if (to != nullptr)
                                put(sum, to + first_row + at, count, call.dx[0].add[i + k] != 0);
                            });
    });
  }

  // Adds to each key or value the sum of weights * x over the queries that see it, in their order.
  // Several keys are computed side by side.
  template <class Factor>
  void add_columns(const E* weights, unsigned input, std::size_t rows, std::size_t head_rows,
                   const Factor& factor) const {
    if (!call.dx[input].wanted() || call.dx[input].items[begin] == nullptr) return;
    const std::size_t keys = SeenKeys(call, begin).all;
    E* const to = call.dx[input].at<E>(begin) + head * head_rows;
    std::size_t j = 0;
    for (; j + kAbreast <= keys; j += kAbreast) {
      add_keys<kAbreast>(weights, j, to, call.dx[input].add[begin] != 0, rows, head_rows, factor);
    }
    for (; j < keys; ++j) {
      add_keys<1>(weights, j, to, call.dx[input].add[begin] != 0, rows, head_rows, factor);
    }
  }

  template <int kKeys, class Factor>
  HWY_INLINE void add_keys(const E* weights, std::size_t j, E* to, bool add, std::size_t rows,
                           std::size_t head_rows, const Factor& factor) const {
    for_lanes<E>(head_rows, [&](std::size_t at, std::size_t count) HWY_ATTR {
      Lanes<E> sums[kKeys];
      for (int k = 0; k < kKeys; ++k) sums[k] = Lanes<E>(0.0);
      for (std::size_t i = begin; i < end; ++i) {
        const SeenKeys seen(call, i);
        const Lanes<E> x = load(factor(i) + at, count);
        const E* const weight = weights + (i - begin) * stride + j;
        for (int k = 0; k < kKeys; ++k) {
          if (j + k < seen.first || j + k >= seen.end) continue;
          sums[k] = sums[k] + Lanes<E>(static_cast<double>(weight[k])) * x;
        }
      }
      for (int k = 0; k < kKeys; ++k) put(sums[k], to + (j + k) * rows + at, count, add);
    });
  }
};

template <class E>
void attention_backward(const BackwardCall& call) {
  const AttentionShape<E> shape(*call.type);
  for (std::size_t begin = 0, end = 0; begin < call.n; begin = end) {
    end = end_of_readers(call, begin, call.dx);
    const std::size_t keys = SeenKeys(call, begin).all, stride = padded<E>(keys);
    E* const own_keys = transposed_keys(call, shape, begin, keys, stride);
    const E* const values = call.in[2].at<E>(begin);
    E* const transposed_values = transposed(call, values, shape.value_rows, keys, stride);
    E* const probabilities = call.workspace->elements<E>((end - begin) * stride);
    E* const scores = call.workspace->elements<E>((end - begin) * stride);
    for (std::size_t h = 0; h < shape.heads; ++h) {
      HeadGradients<E> head{call, shape, begin, end, stride, h, probabilities, scores};
      head.find(own_keys, transposed_values);
      head.put_queries();
      head.add_columns(scores, 1, shape.key_rows, shape.key_head,
                       [&](std::size_t i) { return head.query(i); });
      head.add_columns(probabilities, 2, shape.value_rows, shape.value_head,
                       [&](std::size_t i) { return head.dy(i); });
    }
  }
}

template <class E>
void weights_forward(const ForwardCall& call) {
  const AttentionShape<E> shape(*call.type);
  for (std::size_t i = 0, end = 0; i < call.n; i = end) {
    end = cpu::end_of_softmax(call, i);
    const cpu::SoftmaxItem seen(call.integers, i);
    const std::size_t stride = padded<E>(seen.all);
    E* const keys = transposed_keys(call, shape, i, seen.all, stride);
    E* const scores = call.workspace->elements<E>(stride);
    for (std::size_t head = 0; head < shape.heads; ++head) {
      const std::size_t row = head * shape.key_head;
      find_scores<1>(
          shape, [&](int) { return call.in[0].at<E>(i) + row; }, keys + row * stride, stride,
          scores);
      Lanes<E> top;
      const Lanes<E> sum = exponentiate(scores + seen.begin, seen.size(), top);
      const E factor = hn::GetLane((Lanes<E>(1) / sum).v),
              log_sum = hn::GetLane((top + log(sum)).v);
      for (std::size_t k = i; k < end; ++k) {
        call.out.at<E>(k)[head] = scores[cpu::SoftmaxItem(call.integers, k).own] * factor;
        if (call.saved != nullptr) {
          static_cast<E*>(call.saved)[k * shape.heads + head] = log_sum;
        }
      }
    }
  }
}

// One head of the items [begin, end): the keys of one query that sees the keys `seen`. Has weights
// and the gradients of scores.
template <class E>
struct WeightGradients {
  const BackwardCall& call;
  const AttentionShape<E>& shape;
  std::size_t begin, end, head;
  cpu::SoftmaxItem seen;
  E *weights, *scores;

  std::size_t first_row() const { return head * shape.key_head; }
  const E* query() const { return call.in[0].at<E>(begin) + first_row(); }
  std::size_t own(std::size_t k) const { return cpu::SoftmaxItem(call.integers, k).own; }
  E slope(std::size_t k) const { return call.dy.at<E>(k)[head]; }

  void find(const E* keys, std::size_t stride) {
    find_scores<1>(
        shape, [&](int) { return query(); }, keys + first_row() * stride, stride, weights);
    std::fill_n(scores, seen.all, E(0));
    for (std::size_t k = begin; k < end; ++k) scores[own(k)] += slope(k);
    score_gradients(shape, seen.size(), call.saved.at<E>(begin)[head], weights + seen.begin,
                    scores + seen.begin);
  }

  // The query's gradient from one item: scale p dy (k - sum p k), with the item's own p, dy and k.
  void put_queries(E* mean) const {
    const E* const keys = call.in[1].at<E>(begin) + first_row();
    combine_rows<1>([&](int) { return weights + seen.begin; }, seen.size(),
                    keys + seen.begin * shape.key_rows, shape.key_rows, shape.key_head,
                    [&](int, std::size_t at, std::size_t count, Lanes<E> sum)
                        HWY_ATTR { store(sum, mean + at, count); });
    for (std::size_t k = begin; k < end; ++k) {
      E* const to = call.dx[0].at<E>(k);
      if (to == nullptr) continue;
      const E weight = call.out.at<E>(k)[head];
      const Lanes<E> factor(static_cast<double>(shape.scale * (weight * slope(k))));
      const E* const key = keys + own(k) * shape.key_rows;
      for_lanes<E>(shape.key_head, [&](std::size_t at, std::size_t count) HWY_ATTR {
        put(factor * (load(key + at, count) - load(mean + at, count)), to + first_row() + at, count,
            call.dx[0].add[k] != 0);
      });
    }
  }

  // Adds to the gradients of all keys.
  void add_keys(E* sums) const {
    for (std::size_t j = seen.begin; j < seen.end; ++j) {
      const Lanes<E> factor(static_cast<double>(scores[j]));
      E* const to = sums + j * shape.key_rows + first_row();
      for_lanes<E>(shape.key_head, [&](std::size_t at, std::size_t count) HWY_ATTR {
        put(factor * load(query() + at, count), to + at, count, true);
      });
    }
  }
};

template <class E>
void weights_backward(const BackwardCall& call) {
  const AttentionShape<E> shape(*call.type);
  const auto sums_go_on = [&](std::size_t i) {
    return i < call.n && shares_destination(call, 1, i);
  };
  E *const mean = call.workspace->elements<E>(shape.key_head), *sums = nullptr;
  for (std::size_t i = 0, end = 0; i < call.n; i = end) {
    end = cpu::end_of_softmax(call, i);
    const cpu::SoftmaxItem seen(call.integers, i);
    const std::size_t stride = padded<E>(seen.all);
    E* const keys = transposed_keys(call, shape, i, seen.all, stride);
    E* const to = call.dx[1].wanted() ? call.dx[1].at<E>(i) : nullptr;
    const std::size_t size = seen.all * shape.key_rows;
    if (to != nullptr && !sums_go_on(i)) {
      sums = call.dx[1].add[i] != 0 ? call.workspace->elements<E>(size) : to;
      std::fill_n(sums, size, E(0));
    }
    E* const rows = call.workspace->elements<E>(2 * stride);
    for (std::size_t h = 0; h < shape.heads; ++h) {
      WeightGradients<E> head{call, shape, i, end, h, seen, rows, rows + stride};
      head.find(keys, stride);
      if (call.dx[0].wanted()) head.put_queries(mean);
      if (to != nullptr) head.add_keys(sums);
    }
    if (to != nullptr && to != sums && !sums_go_on(end)) cpu::add_column(sums, size, to);
  }
}

std::vector<KernelEntry> attention_kernels() {
  return {{"attention", DYNET_LIKE_KERNELS(attention_forward, attention_backward)},
          {"attention_dropout", DYNET_LIKE_KERNELS(attention_forward, attention_backward)},
          {"attention_weights", DYNET_LIKE_KERNELS(weights_forward, weights_backward)}};
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
