// Sums over all paths that spell labels, on the CPU: states lie along the lanes.
//
// The states of a path are the blank before the first label, that label, the blank behind it, and
// so on. A path stays in a state or moves to the next one. It moves from a label directly to the
// next label only if they differ.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/ctc.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/math-inl.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/open_destinations.h"

#include <algorithm>
#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

// The states of an item. Lists with a number per state are `width` long, with margins for two
// neighbours on either side.
template <class E>
struct States {
  static constexpr std::size_t kLanes = Lanes<E>::size, kMargin = HWY_MAX(kLanes, 2);
  static constexpr double kNever = -std::numeric_limits<double>::infinity();

  std::size_t classes, steps, labels = 0, count, width;
  const E *x, *label;
  E* skips = nullptr;  ///< added to a path that skips a blank: 0 if it may do so

  template <class Call>
  States(const Call& call, std::size_t i)
      : classes(call.type->inputs[0].rows()),
        steps(call.integers[i]),
        x(call.in[0].template at<E>(i)),
        label(call.in[1].template at<E>(i)) {
    while (labels < steps && is_label(label[labels])) ++labels;
    count = 2 * labels + 1;
    width = hwy::RoundUpTo(count, kLanes);
    skips = list(*call.workspace, kNever);
    for (std::size_t k = 1; k < labels; ++k) {
      if (class_of(k) != class_of(k - 1)) skips[2 * k + 1] = 0;
    }
  }
  E* list(Workspace& workspace, double fill) const {
    E* const all = workspace.elements<E>(width + 2 * kMargin);
    std::fill_n(all, width + 2 * kMargin, static_cast<E>(fill));
    return all + kMargin;
  }
  bool is_label(E number) const { return number >= 0 && number < static_cast<E>(classes - 1); }
  std::size_t class_of(std::size_t k) const { return static_cast<std::size_t>(label[k]); }
  const E* step(std::size_t t) const { return x + t * classes; }

  // Sets the logarithms of the first step.
  void begin(E* logs) const {
    logs[0] = step(0)[classes - 1];
    if (labels > 0) logs[1] = step(0)[class_of(0)];
  }
  // Writes the score of a step for each state.
  void emit(std::size_t t, E* to) const {
    const E *const of = step(t), blank = of[classes - 1];
    to[0] = blank;
    for (std::size_t k = 0; k < labels; ++k) {
      to[2 * k + 1] = of[class_of(k)];
      to[2 * k + 2] = blank;
    }
  }
  template <class F>
  HWY_INLINE void each(const F& f) const {
    for (std::size_t at = 0; at < width; at += kLanes) f(at);
  }
  // Subtracts the largest and returns it. -infinity everywhere stays unchanged.
  HWY_INLINE E take_largest(E* logs) const {
    Lanes<E> top(kNever);
    each([&](std::size_t at) HWY_ATTR { top = max(Lanes<E>::load(logs + at), top); });
    const E largest = top.max();
    if (std::isinf(largest)) return largest;
    const Lanes<E> less(static_cast<double>(largest));
    each([&](std::size_t at) HWY_ATTR { (Lanes<E>::load(logs + at) - less).store(logs + at); });
    return largest;
  }
};

// The three ways into each state: from itself, from the state before and from the state before
// that. e^way is e^top times the way's part.
template <class E>
struct Ways {
  Lanes<E> top, parts[3], sum;
  typename Lanes<E>::Mask none;  ///< no path reaches this state

  HWY_INLINE Ways(const E* logs, const E* skips, std::size_t at) {
    const Lanes<E> ways[] = {Lanes<E>::load(logs + at), Lanes<E>::load(logs + at - 1),
                             Lanes<E>::load(logs + at - 2) + Lanes<E>::load(skips + at)};
    top = max(ways[0], max(ways[1], ways[2]));
    none = hn::Eq(top.v, Lanes<E>(States<E>::kNever).v);
    top = select(none, Lanes<E>(0.0), top);
    for (int k = 0; k < 3; ++k) parts[k] = exp_of_negative(ways[k] - top);
    sum = (parts[0] + parts[1]) + parts[2];
  }
};

// The two states in which a path may end: their shares of the sum, and the logarithm of the sum.
template <class E>
struct End {
  E blank, label = 0, log_sum;

  End(const States<E>& states, const E* logs) {
    const E last = logs[states.count - 1];
    const E before = states.labels > 0 ? logs[states.count - 2] : static_cast<E>(States<E>::kNever);
    // If either is NaN, so is `top`.
    const E top = std::isnan(last) || before < last ? last : before;
    blank = label = 0;
    log_sum = top;
    if (std::isinf(top)) return;
    blank = std::exp(last - top);
    label = std::exp(before - top);
    const E sum = blank + label;
    log_sum = top + std::log(sum);
    blank /= sum;
    label /= sum;
  }
};

template <class E>
void ctc_forward(const ForwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    const States<E> states(call, i);
    E* logs = states.list(*call.workspace, States<E>::kNever);
    E* next = states.list(*call.workspace, States<E>::kNever);
    E* const emitted = states.list(*call.workspace, States<E>::kNever);
    E* saved = static_cast<E*>(call.saved);
    if (saved != nullptr) saved += i * call.type->saved_size;
    states.begin(logs);
    double base = static_cast<double>(states.take_largest(logs));
    for (std::size_t t = 0;; ++t) {
      if (saved != nullptr) std::copy_n(logs, states.count, saved + t * states.count);
      if (t + 1 == states.steps) break;
      states.emit(t + 1, emitted);
      states.each([&](std::size_t at) HWY_ATTR {
        const Ways<E> ways(logs, states.skips, at);
        ((ways.top + log(ways.sum)) + Lanes<E>::load(emitted + at)).store(next + at);
      });
      base += static_cast<double>(states.take_largest(next));
      std::swap(logs, next);
    }
    const End<E> end(states, logs);
    *call.out.at<E>(i) = static_cast<E>(base + static_cast<double>(end.log_sum));
  }
}

// Turns slopes of states into slopes of the step's classes.
template <class E>
HWY_INLINE void put_slopes(const States<E>& states, const E* slopes, E* of_classes, E* to,
                           bool add) {
  std::fill_n(of_classes, states.classes, E(0));
  E of_blank = slopes[0];
  for (std::size_t k = 0; k < states.labels; ++k) {
    of_classes[states.class_of(k)] += slopes[2 * k + 1];
    of_blank += slopes[2 * k + 2];
  }
  of_classes[states.classes - 1] = of_blank;
  for (std::size_t at = 0; at < states.classes; at += Lanes<E>::size) {
    const std::size_t count = HWY_MIN(Lanes<E>::size, states.classes - at);
    put(load(of_classes + at, count), to + at, count, add);
  }
}

template <class E>
void go_back(const BackwardCall& call, std::size_t i, E* to, bool add) {
  const States<E> states(call, i);
  E *const slopes = states.list(*call.workspace, 0), *const logs = states.list(*call.workspace,
                                                                               States<E>::kNever);
  E* const shares[] = {states.list(*call.workspace, 0), states.list(*call.workspace, 0),
                       states.list(*call.workspace, 0)};
  E* const of_classes = call.workspace->elements<E>(states.classes);
  const E* const saved = call.saved.at<E>(i);
  const auto load_logs = [&](std::size_t t) {
    std::copy_n(saved + t * states.count, states.count, logs);
  };
  load_logs(states.steps - 1);
  const End<E> end(states, logs);
  const E dy = *call.dy.at<E>(i);
  slopes[states.count - 1] = dy * end.blank;
  if (states.labels > 0) slopes[states.count - 2] = dy * end.label;
  for (std::size_t t = states.steps;;) {
    put_slopes(states, slopes, of_classes, to + --t * states.classes, add);
    if (t == 0) break;
    load_logs(t - 1);
    states.each([&](std::size_t at) HWY_ATTR {
      const Ways<E> ways(logs, states.skips, at);
      const Lanes<E> ratio =
          select(ways.none, Lanes<E>(0.0), Lanes<E>::load(slopes + at) / ways.sum);
      for (int k = 0; k < 3; ++k) (ways.parts[k] * ratio).store(shares[k] + at);
    });
    states.each([&](std::size_t at) HWY_ATTR {
      const Lanes<E> stays = Lanes<E>::load(shares[0] + at),
                     next = Lanes<E>::load(shares[1] + at + 1),
                     skips = Lanes<E>::load(shares[2] + at + 2);
      ((stays + next) + skips).store(slopes + at);
    });
  }
}

template <class E>
void ctc_backward(const BackwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    for (unsigned j = 0; j < 2; ++j) {
      E* const to = call.dx[j].wanted() ? call.dx[j].at<E>(i) : nullptr;
      if (to == nullptr) continue;
      if (j == 0) {
        go_back(call, i, to, adds_to_destination(call, j, i));
      } else if (!adds_to_destination(call, j, i)) {
        std::fill_n(to, call.integers[i], E(0));
      }
    }
  }
}

Kernels ctc_kernels() { return DYNET_LIKE_KERNELS(ctc_forward, ctc_backward); }

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
