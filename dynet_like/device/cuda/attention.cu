// Attention: a warp for every head of a query, and for every head of a key for the key's gradient.
// Scores are computed again where needed, so that memory does not grow with the number of keys.
#include <cmath>
#include <limits>

#include "dynet_like/device/cuda/dropout.h"
#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/warps.h"

namespace dynet_like::detail::cuda {

namespace {

// Rows of a head that a lane handles at a time.
constexpr unsigned kRows = 4, kRowsOfWarp = kRows * kWarp;

struct AttentionShape {
  explicit AttentionShape(const Signature& type)
      : heads(type.attributes[0]),
        key_rows(type.inputs[0].size()),
        value_rows(static_cast<unsigned>(type.output_size)),
        integers(type.integers) {}

  __device__ unsigned key_head() const { return key_rows / heads; }
  __device__ unsigned value_head() const { return value_rows / heads; }

  unsigned heads, key_rows, value_rows;
  unsigned integers;  ///< of an item
};

// The rates of items; null for the op without dropout.
template <class Call>
const void* rates_of(const Call& call) {
  return call.type->op->numbers.reals > 0 ? call.reals : nullptr;
}

// Dropout of weights, by the integers and rates of items.
template <class T>
struct Dropping {
  const std::uint32_t* integers;
  const T* rates;

  __device__ T operator()(const AttentionShape& shape, std::size_t item, unsigned head,
                          unsigned key, T x) const {
    if (rates == nullptr) return x;
    const std::uint32_t* const own = integers + item * shape.integers;
    const std::uint32_t words[kRandomIntegers] = {own[3], own[4], 0,
                                                  4 * (own[5] + head * ((own[0] + 3) / 4))};
    return drop(words, rates[item], key, x);
  }
};

// One head of one query, and the keys that it sees.
template <class T>
struct Query {
  AttentionShape shape;
  unsigned first, end;
  const T *q, *keys;  ///< of the head
  T scale;

  __device__ Query(const AttentionShape& of, std::size_t item, unsigned h, const Operand& in_q,
                   const Operand& in_k, const std::uint32_t* integers)
      : shape(of),
        first(integers[of.integers * item + 1]),
        end(integers[of.integers * item + 2]),
        q(in_q.at<T>(item) + h * of.key_head()),
        keys(in_k.at<T>(item) + h * of.key_head()),
        scale(1 / std::sqrt(static_cast<T>(of.key_head()))) {}

  __device__ const T* key(unsigned j) const { return keys + std::size_t{j} * shape.key_rows; }
  // Called by one lane.
  __device__ T score(unsigned j) const {
    T sum = 0;
    for (unsigned c = 0; c < shape.key_head(); ++c) sum = std::fma(q[c], key(j)[c], sum);
    return sum * scale;
  }
  // The largest score, and the sum of e^(score - largest); called by all lanes.
  __device__ T largest_score() const {
    return Team<kWarp>().largest<T>(end - first, [&](unsigned j) { return score(first + j); });
  }
  __device__ T sum_of_powers(T top) const {
    return Team<kWarp>().sum<T>(end - first,
                                [&](unsigned j) { return std::exp(score(first + j) - top); });
  }
};

// The same, with the values of the keys.
template <class T>
struct Reader : Query<T> {
  using Query<T>::shape;
  const T* values;  ///< of the head

  __device__ Reader(const AttentionShape& of, std::size_t item, unsigned h, const Operand& in_q,
                    const Operand& in_k, const Operand& in_v, const std::uint32_t* integers)
      : Query<T>(of, item, h, in_q, in_k, integers),
        values(in_v.at<T>(item) + h * of.value_head()) {}

  // Called by one lane.
  __device__ T value_times(const T* dy, unsigned j) const {
    const T* const v = values + std::size_t{j} * shape.value_rows;
    T sum = 0;
    for (unsigned c = 0; c < shape.value_head(); ++c) sum = std::fma(dy[c], v[c], sum);
    return sum;
  }
};

// Calls put(row, sum) for all rows of a head: sum is that of weight(key) times the key's row.
template <class T, class Weight, class Put>
__device__ void combine_columns(const T* columns, unsigned stride, unsigned rows, unsigned first,
                                unsigned end, const Weight& weight, const Put& put_row) {
  const unsigned lane = lane_of_warp();
  for (unsigned begin = 0; begin < rows; begin += kRowsOfWarp) {
    T sum[kRows] = {};
    for (unsigned tile = first; tile < end; tile += kWarp) {
      const T mine = tile + lane < end ? weight(tile + lane) : T(0);
      for (unsigned t = 0; t < kWarp && tile + t < end; ++t) {
        const T factor = __shfl_sync(kWholeWarp, mine, t);
        const T* const column = columns + std::size_t{tile + t} * stride;
        for (unsigned r = 0; r < kRows; ++r) {
          const unsigned row = begin + r * kWarp + lane;
          if (row < rows) sum[r] = std::fma(factor, column[row], sum[r]);
        }
      }
    }
    for (unsigned r = 0; r < kRows; ++r) {
      const unsigned row = begin + r * kWarp + lane;
      if (row < rows) put_row(row, sum[r]);
    }
  }
}

template <class T>
__global__ void attend(std::size_t warps, AttentionShape shape, Operand q, Operand k, Operand v,
                       Dropping<T> dropping, Output out, T* saved) {
  const std::size_t warp = item_of_warp();
  if (warp >= warps) return;
  const std::size_t item = warp / shape.heads;
  const auto head = static_cast<unsigned>(warp % shape.heads);
  const Reader<T> reader(shape, item, head, q, k, v, dropping.integers);
  const T top = reader.largest_score(), sum = reader.sum_of_powers(top), factor = 1 / sum;
  T* const y = output_at<T>(out, item) + head * shape.value_head();
  combine_columns<T>(
      reader.values, shape.value_rows, shape.value_head(), reader.first, reader.end,
      [&](unsigned key) {
        return dropping(shape, item, head, key, std::exp(reader.score(key) - top));
      },
      [&](unsigned row, T value) { y[row] = value * factor; });
  if (saved != nullptr && lane_of_warp() == 0) saved[warp] = top + std::log(sum);
}

template <class T>
void forward(const ForwardCall& call) {
  const AttentionShape shape(*call.type);
  launch_warps(commands_of(call), call.n * shape.heads, attend<T>, shape, call.in[0], call.in[1],
               call.in[2], Dropping<T>{call.integers, static_cast<const T*>(rates_of(call))},
               call.out, static_cast<T*>(call.saved));
}

// The inputs of backward kernels.
struct Given {
  Operand q, k, v, out, saved, dy;
  const std::uint32_t* integers;
  const void* rates;

  template <class T>
  __device__ T drop_weight(const AttentionShape& shape, std::size_t item, unsigned head,
                           unsigned key, T x) const {
    return Dropping<T>{integers, static_cast<const T*>(rates)}(shape, item, head, key, x);
  }
};

// The inner product of two heads; the lanes share the work.
template <class T>
__device__ T product_of_warp(const T* a, const T* b, unsigned size) {
  T sum = 0;
  for_lane(size, [&](unsigned c) { sum = std::fma(a[c], b[c], sum); });
  return sum_of_warp(sum);
}

// dq = sum over keys of dscore k, where dscore = scale p (v dy - y dy), with dropout of v dy.
template <class T>
__global__ void query_gradients(std::size_t warps, AttentionShape shape, Given given,
                                Destination dq) {
  const std::size_t warp = item_of_warp();
  if (warp >= warps) return;
  const std::size_t item = warp / shape.heads;
  const Target<T> target(dq, item);
  if (target.to == nullptr) return;
  const auto head = static_cast<unsigned>(warp % shape.heads);
  const Reader<T> reader(shape, item, head, given.q, given.k, given.v, given.integers);
  const std::size_t first_row = std::size_t{head} * shape.value_head();
  const T *const dy = given.dy.at<T>(item) + first_row, *const y =
                                                            given.out.at<T>(item) + first_row;
  const T log_sum = given.saved.at<T>(item)[head];
  const T mean = product_of_warp(dy, y, shape.value_head());
  combine_columns<T>(
      reader.keys, shape.key_rows, shape.key_head(), reader.first, reader.end,
      [&](unsigned key) {
        const T p = std::exp(reader.score(key) - log_sum);
        const T dp = given.drop_weight(shape, item, head, key, reader.value_times(dy, key));
        return reader.scale * (p * (dp - mean));
      },
      [&](unsigned row, T sum) { target.put(sum, head * shape.key_head() + row); });
}

// The queries of one call that contribute to the same gradients.
__device__ Run readers_of(const Destination& dk, const Destination& dv, const Operand& k,
                          std::size_t n, std::size_t item) {
  return run_of(item, n, [&](std::size_t other) {
    return k.items[other] == k.items[item] && (!dk.wanted() || dk.items[other] == dk.items[item]) &&
           (!dv.wanted() || dv.items[other] == dv.items[item]);
  });
}

// The gradient of one key or its value: the sum of the contributions of queries, in their order.
template <class T, bool of_values>
__device__ void add_for_key(const AttentionShape& shape, const Given& given, const Run& readers,
                            unsigned head, unsigned key, const Target<T>& target) {
  const unsigned rows = of_values ? shape.value_head() : shape.key_head();
  const std::size_t stride = of_values ? shape.value_rows : shape.key_rows;
  for (unsigned begin = 0; begin < rows; begin += kRowsOfWarp) {
    T sum[kRows] = {};
    const std::size_t place = key * stride + std::size_t{head} * rows;
    for (std::size_t item = readers.begin; item < readers.end; ++item) {
      const Reader<T> reader(shape, item, head, given.q, given.k, given.v, given.integers);
      if (key < reader.first || key >= reader.end) continue;
      const T* const dy = given.dy.at<T>(item) + head * shape.value_head();
      const T score = product_of_warp(reader.q, reader.key(key), shape.key_head()) * reader.scale;
      T weight = std::exp(score - given.saved.at<T>(item)[head]);
      if (of_values) {
        weight = given.drop_weight(shape, item, head, key, weight);
      } else {
        const T* const y = given.out.at<T>(item) + head * shape.value_head();
        const T* const v = reader.values + std::size_t{key} * shape.value_rows;
        const T dp =
            given.drop_weight(shape, item, head, key, product_of_warp(dy, v, shape.value_head()));
        const T difference = dp - product_of_warp(dy, y, shape.value_head());
        weight = reader.scale * (weight * difference);
      }
      const T* const factor = of_values ? dy : reader.q;
      for (unsigned r = 0; r < kRows; ++r) {
        const unsigned row = begin + r * kWarp + lane_of_warp();
        if (row >= rows) continue;
        const T term = weight * factor[row];
        sum[r] = sum[r] + term;
      }
    }
    for (unsigned r = 0; r < kRows; ++r) {
      const unsigned row = begin + r * kWarp + lane_of_warp();
      if (row < rows) target.put(sum[r], place + row);
    }
  }
}

// The warps of all queries that read the same keys share these keys.
template <class T, bool of_values>
__global__ void column_gradients(std::size_t warps, AttentionShape shape, Given given,
                                 Destination dk, Destination dv) {
  const std::size_t warp = item_of_warp();
  if (warp >= warps) return;
  const std::size_t item = warp / shape.heads;
  const Run readers = readers_of(dk, dv, given.k, warps / shape.heads, item);
  const Target<T> target(of_values ? dv : dk, readers.begin);
  if (target.to == nullptr) return;
  const unsigned keys = given.integers[shape.integers * item];
  const auto all = static_cast<unsigned>(readers.end - readers.begin);
  for (auto key = static_cast<unsigned>(item - readers.begin); key < keys; key += all) {
    add_for_key<T, of_values>(shape, given, readers, static_cast<unsigned>(warp % shape.heads), key,
                              target);
  }
}

template <class T>
void backward(const BackwardCall& call) {
  const AttentionShape shape(*call.type);
  const Given given{call.in[0], call.in[1], call.in[2],    call.out,
                    call.saved, call.dy,    call.integers, rates_of(call)};
  const std::size_t warps = call.n * shape.heads;
  Commands& commands = commands_of(call);
  const Destination &dq = call.dx[0], &dk = call.dx[1], &dv = call.dx[2];
  if (dq.wanted()) launch_warps(commands, warps, query_gradients<T>, shape, given, dq);
  if (dk.wanted()) {
    launch_warps(commands, warps, column_gradients<T, false>, shape, given, dk, dv);
  }
  if (dv.wanted()) {
    launch_warps(commands, warps, column_gradients<T, true>, shape, given, dk, dv);
  }
}

// Whether the items a and b are weights of one softmax. `dk` is null in a forward call.
__device__ bool are_of_one_query(const Operand& q, const Operand& k, void* const* dk,
                                 const std::uint32_t* integers, std::size_t a, std::size_t b) {
  for (unsigned i = 0; i < 3; ++i) {
    if (integers[4 * a + i] != integers[4 * b + i]) return false;
  }
  return q.items[a] == q.items[b] && k.items[a] == k.items[b] && (dk == nullptr || dk[a] == dk[b]);
}

// The first of these items computes the softmax for all of them.
template <class T>
__global__ void weigh(std::size_t warps, AttentionShape shape, Operand q, Operand k,
                      const std::uint32_t* integers, Output out, T* saved) {
  const std::size_t warp = item_of_warp(), begin = warp / shape.heads, n = warps / shape.heads;
  if (warp >= warps) return;
  if (begin > 0 && are_of_one_query(q, k, nullptr, integers, begin - 1, begin)) return;
  const auto head = static_cast<unsigned>(warp % shape.heads);
  const Query<T> query(shape, begin, head, q, k, integers);
  const T top = query.largest_score(), sum = query.sum_of_powers(top);
  const T factor = 1 / sum, log_sum = top + std::log(sum);
  for (std::size_t item = begin + lane_of_warp(); item < n; item += kWarp) {
    if (!are_of_one_query(q, k, nullptr, integers, begin, item)) return;
    output_at<T>(out, item)[head] = std::exp(query.score(integers[4 * item + 3]) - top) * factor;
    if (saved != nullptr) saved[item * shape.heads + head] = log_sum;
  }
}

// The inputs of backward kernels of weights.
struct GivenWeights {
  Operand q, k, out, saved, dy;
  const std::uint32_t* integers;
};

// An item contributes scale p dy (k - sum p k), where p, dy and k belong to its own key.
template <class T>
__global__ void gradients_of_weighers(std::size_t warps, AttentionShape shape, GivenWeights given,
                                      Destination dq) {
  const std::size_t warp = item_of_warp(), begin = warp / shape.heads, n = warps / shape.heads;
  if (warp >= warps) return;
  const auto is_next = [&](std::size_t a, std::size_t b) {
    return are_of_one_query(given.q, given.k, nullptr, given.integers, a, b);
  };
  if (begin > 0 && is_next(begin - 1, begin)) return;
  const auto head = static_cast<unsigned>(warp % shape.heads);
  const Query<T> query(shape, begin, head, given.q, given.k, given.integers);
  const T log_sum = given.saved.at<T>(begin)[head];
  combine_columns<T>(
      query.keys, shape.key_rows, shape.key_head(), query.first, query.end,
      [&](unsigned j) { return std::exp(query.score(j) - log_sum); },
      [&](unsigned row, T mean) {
        for (std::size_t i = begin; i < n && is_next(begin, i); ++i) {
          const Target<T> target(dq, i);
          if (target.to == nullptr) continue;
          const T slope = given.out.at<T>(i)[head] * given.dy.at<T>(i)[head];
          const T key = query.key(given.integers[4 * i + 3])[row];
          target.put(query.scale * slope * (key - mean), head * shape.key_head() + row);
        }
      });
}

// The gradient of the score of key j, from all weights of one query, which begin at `begin`.
template <class T>
__device__ T slope_of_score(const Query<T>& query, const GivenWeights& given, std::size_t begin,
                            std::size_t end, unsigned head, unsigned j) {
  T mean = 0, own = 0;
  for (std::size_t i = begin + lane_of_warp(); i < end; i += kWarp) {
    const T slope = given.dy.at<T>(i)[head];
    mean = std::fma(given.out.at<T>(i)[head], slope, mean);
    if (given.integers[4 * i + 3] == j) own = own + slope;
  }
  mean = sum_of_warp(mean);
  own = sum_of_warp(own);
  const T score = product_of_warp(query.q, query.key(j), query.shape.key_head()) * query.scale;
  return query.scale * (std::exp(score - given.saved.at<T>(begin)[head]) * (own - mean));
}

// The warps of all items that write to the same gradients share the keys.
template <class T>
__global__ void gradients_of_weighed(std::size_t warps, AttentionShape shape, GivenWeights given,
                                     Destination dk) {
  const std::size_t warp = item_of_warp(), item = warp / shape.heads, n = warps / shape.heads;
  if (warp >= warps) return;
  const auto head = static_cast<unsigned>(warp % shape.heads);
  const auto [begin, end] =
      run_of(item, n, [&](std::size_t other) { return dk.items[other] == dk.items[item]; });
  const Target<T> target(dk, begin);
  if (target.to == nullptr) return;
  const unsigned rows = shape.key_head(), lane = lane_of_warp();
  for (std::size_t j = item - begin; j < given.integers[4 * begin]; j += end - begin) {
    for (unsigned tile = 0; tile < rows; tile += kWarp) {
      const unsigned row = tile + lane;
      T sum = 0;
      for (std::size_t i = begin, next = 0; i < end; i = next) {
        next = i + 1;
        while (next < end &&
               are_of_one_query(given.q, given.k, dk.items, given.integers, i, next)) {
          ++next;
        }
        const Query<T> query(shape, i, head, given.q, given.k, given.integers);
        if (j < query.first || j >= query.end) continue;
        const T slope = slope_of_score(query, given, i, next, head, static_cast<unsigned>(j));
        if (row < rows) sum = sum + slope * query.q[row];
      }
      if (row < rows) target.put(sum, j * shape.key_rows + std::size_t{head} * rows + row);
    }
  }
}

template <class T>
void weights_forward(const ForwardCall& call) {
  const AttentionShape shape(*call.type);
  launch_warps(commands_of(call), call.n * shape.heads, weigh<T>, shape, call.in[0], call.in[1],
               call.integers, call.out, static_cast<T*>(call.saved));
}

template <class T>
void weights_backward(const BackwardCall& call) {
  const AttentionShape shape(*call.type);
  const GivenWeights given{call.in[0], call.in[1], call.out, call.saved, call.dy, call.integers};
  Commands& commands = commands_of(call);
  const std::size_t warps = call.n * shape.heads;
  if (call.dx[0].wanted()) {
    launch_warps(commands, warps, gradients_of_weighers<T>, shape, given, call.dx[0]);
  }
  if (call.dx[1].wanted()) {
    launch_warps(commands, warps, gradients_of_weighed<T>, shape, given, call.dx[1]);
  }
}

}  // namespace

std::vector<KernelEntry> attention_kernels() {
  return {{"attention", DYNET_LIKE_KERNELS(forward, backward)},
          {"attention_dropout", DYNET_LIKE_KERNELS(forward, backward)},
          {"attention_weights", DYNET_LIKE_KERNELS(weights_forward, weights_backward)}};
}

}  // namespace dynet_like::detail::cuda
