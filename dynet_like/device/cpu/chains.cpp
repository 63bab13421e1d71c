// Sums over all sequences of tags on the CPU: a forward pass over the columns, and a backward pass.
//
// From column to column the pass carries logarithms, minus the largest of them. A sum over all
// previous tags is a product with e^transitions, where each column of the transitions has its
// largest subtracted. If that underflows, because a tag can only follow tags that are nearly
// impossible, logarithms are summed instead.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/chains.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/math-inl.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/open_destinations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

// Below this, terms that underflowed could matter in a sum.
constexpr double kTooSmall = 1e-20;

// Vectors with an element per tag are `width` elements long, a whole number of SIMD vectors.
template <class E>
struct ChainShape {
  std::size_t tags, width;

  explicit ChainShape(const Signature& type)
      : tags(type.inputs[0].rows()), width(hwy::RoundUpTo(tags, Lanes<E>::size)) {}

  std::size_t matrix() const { return tags * width; }
  // Calls f(at, count) for all vectors, `count` elements of which are tags.
  template <class F>
  HWY_INLINE void each(const F& f) const {
    for (std::size_t at = 0; at < tags; at += Lanes<E>::size) {
      f(at, HWY_MIN(Lanes<E>::size, tags - at));
    }
  }
  // Loads from a list by tag; lanes behind the last tag get -infinity.
  static HWY_INLINE Lanes<E> load_scores(const E* from, std::size_t count) {
    return select(Lanes<E>::first(count), load(from, count), none());
  }
  static HWY_INLINE Lanes<E> none() { return Lanes<E>(-std::numeric_limits<double>::infinity()); }
};

// e^(A - the largest of the column), stored by column and by row.
template <class E>
struct Transitions {
  const E* scores = nullptr;
  E *by_column, *by_row, *largest;

  Transitions(const ChainShape<E>& shape, Workspace& workspace)
      : by_column(workspace.elements<E>(shape.matrix())),
        by_row(workspace.elements<E>(shape.matrix())),
        largest(workspace.elements<E>(shape.width)) {}

  // Does nothing if the matrix is that of the previous item, which is usual.
  void read(const ChainShape<E>& shape, const E* matrix) {
    if (matrix == scores) return;
    scores = matrix;
    std::fill_n(by_row, shape.matrix(), E(0));
    std::fill_n(largest, shape.width, E(0));
    for (std::size_t j = 0; j < shape.tags; ++j) {
      const E* const column = matrix + j * shape.tags;
      const E top = *std::max_element(column, column + shape.tags);
      largest[j] = std::isinf(top) ? E(0) : top;
      E* const to = by_column + j * shape.width;
      shape.each([&](std::size_t at, std::size_t count) HWY_ATTR {
        const Lanes<E> less = ChainShape<E>::load_scores(column + at, count) -
                              Lanes<E>(static_cast<double>(largest[j]));
        exp_of_negative(less).store(to + at);
      });
      for (std::size_t i = 0; i < shape.tags; ++i) by_row[i * shape.width + j] = to[i];
    }
  }
};

// An item: the scores of its sequences. The forward pass keeps two vectors per column: the
// logarithms, and the sums over all previous tags.
template <class E>
class Chain {
 public:
  template <class Call>
  Chain(const ChainShape<E>& shape, const Transitions<E>& transitions, const Call& call,
        std::size_t i)
      : length(call.integers[i]),
        shape_(shape),
        transitions_(transitions),
        emissions_(call.in[0].template at<E>(i)),
        start_(call.in[2].template at<E>(i)),
        end_(call.in[3].template at<E>(i)),
        tags_(call.in[4].template at<E>(i)) {}

  // The emissions of a column. If its tag is given, all other tags get -infinity.
  HWY_INLINE Lanes<E> emissions(std::size_t t, std::size_t at, std::size_t count) const {
    const Lanes<E> all = ChainShape<E>::load_scores(emissions_ + t * shape_.tags + at, count);
    if (tags_[t] < 0) return all;
    const Lanes<E> number(hn::Iota(typename Lanes<E>::Tag(), static_cast<E>(at)));
    const Lanes<E> tag(std::floor(static_cast<double>(tags_[t])));
    return select(hn::Eq(number.v, tag.v), all, ChainShape<E>::none());
  }
  // Sets the logarithms of the first column, minus their largest, which it returns.
  HWY_INLINE E begin(E* logs) const {
    return without_largest(logs, [&](std::size_t at, std::size_t count) HWY_ATTR {
      return emissions(0, at, count) + ChainShape<E>::load_scores(start_ + at, count);
    });
  }
  // Whether only one tag is possible in a column, so that no other tag needs a sum.
  HWY_INLINE bool has_one_tag(std::size_t t) const {
    return tags_[t] >= 0 && tags_[t] < static_cast<E>(shape_.tags);
  }
  std::size_t tag(std::size_t t) const { return static_cast<std::size_t>(tags_[t]); }
  // Whether column t is reached by one transition only.
  HWY_INLINE bool is_known(std::size_t t) const { return has_one_tag(t) && has_one_tag(t - 1); }
  // The same as `step` in that case.
  HWY_INLINE E known_step(std::size_t t, const E* before, E* logs) const {
    const E score = before[tag(t - 1)] + transitions_.scores[tag(t) * shape_.tags + tag(t - 1)] +
                    emissions_[t * shape_.tags + tag(t)];
    std::fill_n(logs, shape_.width, -std::numeric_limits<E>::infinity());
    logs[tag(t)] = std::isinf(score) ? score : E(0);
    return score;
  }
  // Computes column t from the column before, whose powers of e go to `powers`.
  HWY_INLINE E step(std::size_t t, const E* before, E* powers, E* sums, E* logs) const {
    shape_.each([&](std::size_t at, std::size_t)
                    HWY_ATTR { exp_of_negative(Lanes<E>::load(before + at)).store(powers + at); });
    return without_largest(logs, [&](std::size_t at, std::size_t count) HWY_ATTR {
      Lanes<E> even(0.0), odd(0.0);
      const E* const rows = transitions_.by_row + at;
      std::size_t i = 0;
      for (; i + 2 <= shape_.tags; i += 2) {
        even = fused(power(powers[i]), Lanes<E>::load(rows + i * shape_.width), even);
        odd = fused(power(powers[i + 1]), Lanes<E>::load(rows + (i + 1) * shape_.width), odd);
      }
      if (i < shape_.tags) {
        even = fused(power(powers[i]), Lanes<E>::load(rows + i * shape_.width), even);
      }
      const Lanes<E> sum = even + odd, emitted = emissions(t, at, count);
      store(sum, sums + at, count);
      Lanes<E> result = emitted + (log(sum) + Lanes<E>::load(transitions_.largest + at));
      const auto possible = ChainShape<E>::none() < emitted;
      if (!hn::AllFalse(typename Lanes<E>::Tag(), hn::And(possible, is_small(sum)))) {
        result = from_logarithms(before, emitted, sum, result, at, count);
      }
      return result;
    });
  }
  // The largest logarithm at the end, and the sum of e^(logarithm - largest). The terms of the sum
  // go to `terms`.
  HWY_INLINE void finish(const E* logs, E* terms, E& largest, E& sum) const {
    largest = without_largest(terms, [&](std::size_t at, std::size_t count) HWY_ATTR {
      return Lanes<E>::load(logs + at) + ChainShape<E>::load_scores(end_ + at, count);
    });
    Lanes<E> all(0.0);
    shape_.each([&](std::size_t at, std::size_t) HWY_ATTR {
      const Lanes<E> term = exp_of_negative(Lanes<E>::load(terms + at));
      term.store(terms + at);
      all = all + term;
    });
    sum = all.sum();
  }

  static HWY_INLINE typename Lanes<E>::Mask is_small(Lanes<E> sum) {
    return sum < Lanes<E>(kTooSmall);
  }
  // ln of the sum over tags i of e^(before[i] + A[i, j]), computed without underflow.
  HWY_INLINE E exact(const E* before, std::size_t j) const {
    const E* const column = transitions_.scores + j * shape_.tags;
    E top = -std::numeric_limits<E>::infinity(), sum = 0;
    for (std::size_t i = 0; i < shape_.tags; ++i) top = std::max(top, before[i] + column[i]);
    if (std::isinf(top)) return top;
    for (std::size_t i = 0; i < shape_.tags; ++i) sum += std::exp(before[i] + column[i] - top);
    return top + std::log(sum);
  }

  const std::size_t length;

 private:
  static HWY_INLINE Lanes<E> power(E x) { return Lanes<E>(static_cast<double>(x)); }

  // Stores f(at, count) minus the largest of all its results, and returns that largest.
  template <class F>
  HWY_INLINE E without_largest(E* to, const F& f) const {
    Lanes<E> top = ChainShape<E>::none();
    shape_.each([&](std::size_t at, std::size_t count) HWY_ATTR {
      const Lanes<E> each = f(at, count);
      each.store(to + at);
      top = max(each, top);
    });
    const E largest = top.max();
    if (std::isinf(largest)) return largest;  // -infinity everywhere: store no differences
    shape_.each([&](std::size_t at, std::size_t)
                    HWY_ATTR { (Lanes<E>::load(to + at) - power(largest)).store(to + at); });
    return largest;
  }
  HWY_NOINLINE Lanes<E> from_logarithms(const E* before, Lanes<E> emitted, Lanes<E> sum,
                                        Lanes<E> result, std::size_t at, std::size_t count) const {
    alignas(64) E emits[Lanes<E>::size], sums[Lanes<E>::size], results[Lanes<E>::size];
    emitted.store(emits);
    sum.store(sums);
    result.store(results);
    for (std::size_t lane = 0; lane < count; ++lane) {
      if (!(sums[lane] < static_cast<E>(kTooSmall)) || std::isinf(emits[lane])) continue;
      results[lane] = emits[lane] + exact(before, at + lane);
    }
    return Lanes<E>::load(results);
  }

  const ChainShape<E>& shape_;
  const Transitions<E>& transitions_;
  const E *emissions_, *start_, *end_, *tags_;
};

template <class E>
void chain_forward(const ForwardCall& call) {
  const ChainShape<E> shape(*call.type);
  Transitions<E> transitions(shape, *call.workspace);
  E* const logs[] = {call.workspace->elements<E>(shape.width),
                     call.workspace->elements<E>(shape.width)};
  E *const powers = call.workspace->elements<E>(shape.width), *const sums =
                                                                  call.workspace->elements<E>(
                                                                      shape.width);
  for (std::size_t i = 0; i < call.n; ++i) {
    transitions.read(shape, call.in[1].at<E>(i));
    const Chain<E> chain(shape, transitions, call, i);
    E* saved =
        static_cast<E*>(call.saved) + (call.saved == nullptr ? 0 : i * call.type->saved_size);
    double base = static_cast<double>(chain.begin(logs[0]));
    for (std::size_t t = 1; t < chain.length; ++t) {
      const E* const before = logs[(t - 1) % 2];
      const bool is_known = chain.is_known(t);
      base += static_cast<double>(is_known ? chain.known_step(t, before, logs[t % 2])
                                           : chain.step(t, before, powers, sums, logs[t % 2]));
      if (call.saved == nullptr) continue;
      if (!is_known) {
        std::copy_n(before, shape.tags, saved);
        std::copy_n(sums, shape.tags, saved + shape.tags);
      }
      saved += 2 * shape.tags;
    }
    const E* const last = logs[(chain.length - 1) % 2];
    if (call.saved != nullptr) std::copy_n(last, shape.tags, saved);
    E largest, sum;
    chain.finish(last, powers, largest, sum);
    const double result = base + static_cast<double>(largest);
    const bool is_possible = !std::isinf(result) || std::isnan(sum);
    *call.out.at<E>(i) =
        static_cast<E>(is_possible ? result + std::log(static_cast<double>(sum)) : result);
  }
}

// Gradients of one item. Let g be the gradients of the logarithms of column t, P[i, j] the share of
// previous tag i in the sum of tag j, and r = g / sum. Then
//   g before = P g = powers * (e^A r),  dA += P * g = e^A * (powers r').
template <class E>
class ChainGradients {
 public:
  ChainGradients(const ChainShape<E>& shape, const Transitions<E>& transitions,
                 Workspace& workspace)
      : shape_(shape),
        transitions_(transitions),
        slopes_(workspace.elements<E>(shape.width)),
        ratios_(workspace.elements<E>(shape.width)),
        logs_(workspace.elements<E>(shape.width)),
        powers_(workspace.elements<E>(shape.width)),
        products_(workspace.elements<E>(shape.matrix())),
        exact_(workspace.elements<E>(shape.matrix())) {}

  void run(const Chain<E>& chain, const BackwardCall& call, std::size_t item) {
    const auto adds = [&](unsigned j) {
      return call.dx[j].wanted() && adds_to_destination(call, j, item);
    };
    const auto to = [&](unsigned j) {
      return call.dx[j].wanted() ? call.dx[j].at<E>(item) : nullptr;
    };
    const E* const saved = call.saved.at<E>(item);
    wants_transitions_ = to(1) != nullptr;
    if (wants_transitions_) std::fill_n(products_, shape_.matrix(), E(0));
    has_exact_ = false;
    finish(chain, column(saved, chain.length - 1), *call.dy.at<E>(item));
    put_slopes(to(3), adds(3));
    for (std::size_t t = chain.length; t-- > 0;) {
      E* const dx = to(0);
      put_slopes(dx == nullptr ? nullptr : dx + t * shape_.tags, adds(0));
      if (t == 0) break;
      chain.is_known(t) ? known_step(chain, t) : step(chain, column(saved, t - 1));
    }
    put_slopes(to(2), adds(2));
    if (wants_transitions_) put_transitions(to(1), adds(1));
    if (to(4) != nullptr && !adds(4)) std::fill_n(to(4), chain.length, E(0));
  }

 private:
  // The numbers that the forward pass kept of a column.
  const E* column(const E* saved, std::size_t t) const { return saved + 2 * t * shape_.tags; }
  static HWY_INLINE Lanes<E> all(E x) { return Lanes<E>(static_cast<double>(x)); }

  HWY_INLINE void load_logs(const E* from) {
    shape_.each([&](std::size_t at, std::size_t count)
                    HWY_ATTR { ChainShape<E>::load_scores(from + at, count).store(logs_ + at); });
  }
  HWY_INLINE void finish(const Chain<E>& chain, const E* last, E dy) {
    load_logs(last);
    E largest, sum;
    chain.finish(logs_, slopes_, largest, sum);
    const bool is_possible = !std::isinf(largest) || std::isnan(sum);
    const Lanes<E> factor = all(is_possible ? dy / sum : E(0));
    shape_.each([&](std::size_t at, std::size_t)
                    HWY_ATTR { (Lanes<E>::load(slopes_ + at) * factor).store(slopes_ + at); });
  }
  HWY_INLINE void put_slopes(E* to, bool add) const {
    if (to == nullptr) return;
    shape_.each([&](std::size_t at, std::size_t count)
                    HWY_ATTR { put(Lanes<E>::load(slopes_ + at), to + at, count, add); });
  }

  // Computes the slopes of the previous column from those of column t.
  HWY_INLINE void step(const Chain<E>& chain, const E* before) {
    load_logs(before);
    bool any_small = false;
    shape_.each([&](std::size_t at, std::size_t count) HWY_ATTR {
      const Lanes<E> sum = load(before + shape_.tags + at, count),
                     slope = Lanes<E>::load(slopes_ + at);
      const auto is_small = Chain<E>::is_small(sum);
      select(is_small, all(0), slope / sum).store(ratios_ + at);
      any_small |=
          !hn::AllFalse(typename Lanes<E>::Tag(), hn::And(is_small, hn::Ne(slope.v, all(0).v)));
      exp_of_negative(Lanes<E>::load(logs_ + at)).store(powers_ + at);
    });
    if (any_small) keep_slopes_of_small(before + shape_.tags);
    shape_.each([&](std::size_t at, std::size_t) HWY_ATTR {
      const Lanes<E> power = Lanes<E>::load(powers_ + at);
      const E* column = transitions_.by_column + at;
      E* products = products_ + at;
      Lanes<E> sum(0.0);
      for (std::size_t j = 0; j < shape_.tags; ++j) {
        const Lanes<E> ratio = all(ratios_[j]);
        sum = fused(ratio, Lanes<E>::load(column), sum);
        if (wants_transitions_) fused(ratio, power, Lanes<E>::load(products)).store(products);
        column += shape_.width;
        products += shape_.width;
      }
      (power * sum).store(slopes_ + at);
    });
    if (any_small) add_small(chain);
  }
  // The same if only one transition is possible: it gets the whole slope.
  HWY_INLINE void known_step(const Chain<E>& chain, std::size_t t) {
    const E slope = slopes_[chain.tag(t)];
    std::fill_n(slopes_, shape_.width, E(0));
    slopes_[chain.tag(t - 1)] = slope;
    if (!wants_transitions_) return;
    begin_exact();
    exact_[chain.tag(t) * shape_.width + chain.tag(t - 1)] += slope;
  }
  HWY_INLINE void begin_exact() {
    if (!has_exact_) std::fill_n(exact_, shape_.matrix(), E(0));
    has_exact_ = true;
  }
  // Keeps the slopes of tags whose sums were computed by logarithms.
  HWY_NOINLINE void keep_slopes_of_small(const E* sums) {
    small_.clear();
    for (std::size_t j = 0; j < shape_.tags; ++j) {
      const bool is_small = sums[j] < static_cast<E>(kTooSmall);
      if (is_small && slopes_[j] != 0) small_.push_back({j, slopes_[j]});
    }
  }
  HWY_NOINLINE void add_small(const Chain<E>& chain) {
    if (wants_transitions_) begin_exact();
    for (const auto& [j, slope] : small_) {
      const E sum = chain.exact(logs_, j);
      const E* const column = transitions_.scores + j * shape_.tags;
      for (std::size_t i = 0; i < shape_.tags; ++i) {
        const E share = slope * std::exp(logs_[i] + column[i] - sum);
        slopes_[i] += share;
        if (wants_transitions_) exact_[j * shape_.width + i] += share;
      }
    }
  }
  HWY_INLINE void put_transitions(E* to, bool add) const {
    for (std::size_t j = 0; j < shape_.tags; ++j) {
      shape_.each([&](std::size_t at, std::size_t count) HWY_ATTR {
        const std::size_t place = j * shape_.width + at;
        Lanes<E> result =
            Lanes<E>::load(products_ + place) * Lanes<E>::load(transitions_.by_column + place);
        if (has_exact_) result = result + Lanes<E>::load(exact_ + place);
        put(result, to + j * shape_.tags + at, count, add);
      });
    }
  }

  struct Small {
    std::size_t tag;
    E slope;
  };

  const ChainShape<E>& shape_;
  const Transitions<E>& transitions_;
  E *slopes_, *ratios_, *logs_, *powers_;
  E *products_, *exact_;  ///< sums over columns of powers times ratios, and of shares
  std::vector<Small> small_;
  bool wants_transitions_ = false, has_exact_ = false;
};

template <class E>
void chain_backward(const BackwardCall& call) {
  const ChainShape<E> shape(*call.type);
  Transitions<E> transitions(shape, *call.workspace);
  ChainGradients<E> gradients(shape, transitions, *call.workspace);
  for (std::size_t i = 0; i < call.n; ++i) {
    transitions.read(shape, call.in[1].at<E>(i));
    gradients.run(Chain<E>(shape, transitions, call, i), call, i);
  }
}

Kernels ctc_kernels();  // of ctc.cpp

std::vector<KernelEntry> chain_kernels() {
  return {{"chain_log_partition", DYNET_LIKE_KERNELS(chain_forward, chain_backward)},
          {"ctc_log_probability", ctc_kernels()}};
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
