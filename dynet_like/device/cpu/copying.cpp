// Softmax with copying on the CPU: one pass over all words, one over the places that may be copied.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/copying.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/softmax-inl.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/open_destinations.h"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

template <class E>
HWY_INLINE E number(Lanes<E> lanes) {
  return hn::GetLane(lanes.v);
}
template <class E>
HWY_INLINE Lanes<E> lanes_of(E x) {
  return Lanes<E>(static_cast<double>(x));
}

// The inputs of an item of copy_log_softmax.
template <class E>
struct Copying {
  std::size_t words, places;
  const E *x, *weights, *at_places;
  E log_generate, log_copy;  ///< ln g and ln(1 - g)
  E* copied;                 ///< the sum of weights of each word over the places

  template <class Call>
  Copying(const Call& call, std::size_t i, E* sums)
      : words(call.type->output_size),
        places(call.integers[i]),
        x(call.in[0].template at<E>(i)),
        weights(call.in[2].template at<E>(i)),
        at_places(call.in[3].template at<E>(i)),
        copied(sums) {
    const Lanes<E> gate = lanes_of(*call.in[1].template at<E>(i)), zero(0.0);
    const Lanes<E> rest = log1p(exp(-abs(gate)));
    log_generate = number(min(gate, zero) - rest);
    log_copy = number(min(-gate, zero) - rest);
    each_place([&](std::size_t, std::size_t word) { copied[word] = 0; });
    each_place([&](std::size_t place, std::size_t word) { copied[word] += weights[place]; });
  }
  // Calls f(place, word) for every place whose word exists.
  template <class F>
  void each_place(const F& f) const {
    for (std::size_t k = 0; k < places; ++k) {
      const E word = at_places[k];
      if (word >= 0 && word < static_cast<E>(words)) f(k, static_cast<std::size_t>(word));
    }
  }
  // Calls f(word, logarithm of its copied probability) once for every word that has weights.
  template <class F>
  void each_word(const F& f) {
    each_place([&](std::size_t, std::size_t word) HWY_ATTR {
      if (copied[word] == 0) return;
      f(word, lanes_of(log_copy) + log(lanes_of(copied[word])));
      copied[word] = 0;
    });
  }
};

template <class E>
void copying_forward(const ForwardCall& call) {
  const std::size_t n = call.type->output_size;
  E* const sums = call.workspace->elements<E>(n);
  const Row<E> row{n};
  for (std::size_t i = 0; i < call.n; ++i) {
    Copying<E> item(call, i, sums);
    E* const y = call.out.at<E>(i);
    const Total<E> total(row, item.x, nullptr);
    const Lanes<E> log_sum = log(total.sum), generate = lanes_of(item.log_generate);
    row.each([&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
      const T log_share = (load_as<T>(item.x + at, count) - T(total.top)) - T(log_sum);
      store(log_share + T(generate), y + at, count);
    });
    item.each_word([&](std::size_t word, Lanes<E> copied) HWY_ATTR {
      const Lanes<E> generated = lanes_of(y[word]), top = max(generated, copied);
      y[word] = number(top + log1p(exp(min(generated, copied) - top)));
    });
    if (call.saved == nullptr) continue;
    E* const saved = static_cast<E*>(call.saved) + 2 * i;
    saved[0] = number(total.top);
    saved[1] = number(log_sum);
  }
}

// With slopes s[i] = dy[i] times the generated share of word i: dx = s - softmax(x) sum s, dgate =
// (1 - g) sum s - g sum of dy times the copied shares, dweight = dy (1 - g) e^-y.
template <class E>
void copying_backward(const BackwardCall& call) {
  const std::size_t n = call.type->output_size;
  E *const sums = call.workspace->elements<E>(n), *const slopes = call.workspace->elements<E>(n);
  const Row<E> row{n};
  for (std::size_t i = 0; i < call.n; ++i) {
    const auto to = [&](unsigned j) { return call.dx[j].wanted() ? call.dx[j].at<E>(i) : nullptr; };
    Copying<E> item(call, i, sums);
    const E *const y = call.out.at<E>(i), *const dy = call.dy.at<E>(i);
    const Lanes<E> top = lanes_of(call.saved.at<E>(i)[0]),
                   log_sum = lanes_of(call.saved.at<E>(i)[1]);
    const Lanes<E> generate = lanes_of(item.log_generate);
    std::copy_n(dy, n, slopes);
    E of_copies = 0;
    item.each_word([&](std::size_t word, Lanes<E> copied) HWY_ATTR {
      const Lanes<E> generated = (lanes_of(item.x[word]) - top) - log_sum + generate;
      slopes[word] = dy[word] * number(exp(generated - lanes_of(y[word])));
      of_copies += dy[word] * number(exp(copied - lanes_of(y[word])));
    });
    const Lanes<E> sum =
        row.template reduce<Sum>([&]<class T>(std::size_t at, std::size_t count)
                                     DYNET_LIKE_BODY { return load_as<T>(slopes + at, count); });
    if (E* const dx = to(0); dx != nullptr) {
      const bool add = adds_to_destination(call, 0, i);
      row.each([&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
        const T share = exp_of_negative((load_as<T>(item.x + at, count) - T(top)) - T(log_sum));
        put(load_as<T>(slopes + at, count) - share * T(sum), dx + at, count, add);
      });
    }
    if (E* const dgate = to(1); dgate != nullptr) {
      const Lanes<E> of_generated = sum * exp(lanes_of(item.log_copy));
      put(of_generated - lanes_of(of_copies) * exp(generate), dgate, 1,
          adds_to_destination(call, 1, i));
    }
    for (const unsigned j : {2u, 3u}) {
      if (to(j) != nullptr && !adds_to_destination(call, j, i))
        std::fill_n(to(j), item.places, E(0));
    }
    if (E* const dweights = to(2); dweights != nullptr) {
      // A word that is nearly impossible has a large slope, but not an infinite one.
      item.each_place([&](std::size_t place, std::size_t word) HWY_ATTR {
        const Lanes<E> power = min(lanes_of(item.log_copy - y[word]), Lanes<E>(80.0));
        if (dy[word] != 0) dweights[place] += dy[word] * number(exp(power));
      });
    }
  }
}

std::vector<KernelEntry> copying_kernels() {
  return {{"copy_log_softmax", DYNET_LIKE_KERNELS(copying_forward, copying_backward)}};
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
