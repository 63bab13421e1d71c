// Attention on the CPU: queries that read the same keys and values run together.
//
// Scores of all keys lie along the lanes, so keys and values are transposed first. Every sum over
// rows, keys or a node's queries is one chain in their order.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/attention.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/core/philox.h"
#include "dynet_like/device/cpu/attention-inl.h"
#include "dynet_like/device/cpu/dropout-inl.h"
#include "dynet_like/device/cpu/column_sums.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/softmax_items.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

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

  // dscore = p (dp - sum p dp), where dp = v dy. On entry p holds scores and ds holds dp. Dropout
  // applies to dp, and to the weights p of values.
  void find_one(std::size_t i, E* p, E* ds) {
    const SeenKeys seen(call, i);
    const Lanes<E> log_sum(static_cast<double>(call.saved.at<E>(i)[head]));
    const Row<E> row{seen.end - seen.first};
    E *const seen_p = p + seen.first, *const seen_ds = ds + seen.first;
    drop_weights(call, i, head, seen, seen_ds);
    const Lanes<E> mean =
        row.template reduce<Sum>([&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
          const T probability = exp(load_as<T>(seen_p + at, count) - T(log_sum));
          store(probability, seen_p + at, count);
          return probability * load_as<T>(seen_ds + at, count);
        });
    const Lanes<E> scale(static_cast<double>(shape.scale));
    row.each([&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
      const T difference = load_as<T>(seen_ds + at, count) - T(mean);
      store(T(scale) * (load_as<T>(seen_p + at, count) * difference), seen_ds + at, count);
    });
    drop_weights(call, i, head, seen, seen_p);
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

  // dscore = scale p (dy - sum p dy)
  void find(const E* keys, std::size_t stride) {
    find_scores<1>(
        shape, [&](int) { return query(); }, keys + first_row() * stride, stride, weights);
    std::fill_n(scores, seen.all, E(0));
    for (std::size_t k = begin; k < end; ++k) scores[own(k)] += slope(k);
    const Row<E> row{seen.size()};
    E *const p = weights + seen.begin, *const ds = scores + seen.begin;
    const Lanes<E> log_sum(static_cast<double>(call.saved.at<E>(begin)[head]));
    const Lanes<E> mean =
        row.template reduce<Sum>([&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
          const T weight = exp(load_as<T>(p + at, count) - T(log_sum));
          store(weight, p + at, count);
          return weight * load_as<T>(ds + at, count);
        });
    const Lanes<E> scale(static_cast<double>(shape.scale));
    row.each([&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
      const T difference = load_as<T>(ds + at, count) - T(mean);
      store(T(scale) * (load_as<T>(p + at, count) * difference), ds + at, count);
    });
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

std::span<const cpu::KernelEntry> attention_table() {
  static const cpu::KernelEntry table[] = {
      {"attention",
       {{attention_forward<float>, attention_forward<double>},
        {attention_backward<float>, attention_backward<double>}}},
      {"attention_dropout",
       {{attention_forward<float>, attention_forward<double>},
        {attention_backward<float>, attention_backward<double>}}},
      {"attention_weights",
       {{weights_forward<float>, weights_forward<double>},
        {weights_backward<float>, weights_backward<double>}}}};
  return table;
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like::detail {
HWY_EXPORT(attention_table);
std::span<const cpu::KernelEntry> cpu::attention_kernels() {
  return HWY_DYNAMIC_DISPATCH(attention_table)();
}
}  // namespace dynet_like::detail
#endif
