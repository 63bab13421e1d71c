// Sums over all sequences of tags, and over all paths that spell labels: one warp per item goes
// forward and back over its columns. It carries logarithms minus the largest of them.
#include <cmath>
#include <limits>

#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/teams.h"
#include "dynet_like/device/cuda/warps.h"

namespace dynet_like::detail::cuda {

namespace {

// Calls f(j) for j < n, each in one lane. Afterwards all lanes see what was written.
template <class F>
__device__ void each_of(unsigned n, const F& f) {
  for_lane(n, f);
  __syncwarp();
}

// ln of the sum of e^f(k) over k < n, computed by one lane; -infinity if all f(k) are.
template <class T, class F>
__device__ T log_sum(unsigned n, const F& f) {
  T top = -std::numeric_limits<T>::infinity(), sum = 0;
  for (unsigned k = 0; k < n; ++k) top = Larger()(top, f(k));
  if (std::isinf(top)) return top;
  for (unsigned k = 0; k < n; ++k) sum = sum + std::exp(f(k) - top);
  return top + std::log(sum);
}

// Subtracts the largest and returns it. -infinity everywhere stays unchanged.
template <class T>
__device__ T take_largest(unsigned n, T* logs) {
  T top = -std::numeric_limits<T>::infinity();
  for_lane(n, [&](unsigned j) { top = Larger()(top, logs[j]); });
  top = reduce_warp(top, Larger());
  if (!std::isinf(top)) each_of(n, [&](unsigned j) { logs[j] -= top; });
  return top;
}

// ------------------------------------------------------------------------- chain_log_partition

template <class T>
struct Chain {
  unsigned tags, length;
  const T *emissions, *transitions, *start, *end, *given;

  __device__ Chain(std::size_t i, unsigned n, const Operand* in, const std::uint32_t* integers)
      : tags(n),
        length(integers[i]),
        emissions(in[0].at<T>(i)),
        transitions(in[1].at<T>(i)),
        start(in[2].at<T>(i)),
        end(in[3].at<T>(i)),
        given(in[4].at<T>(i)) {}

  // -infinity if another tag is given.
  __device__ T emission(unsigned t, unsigned j) const {
    const bool is_possible = given[t] < 0 || std::floor(given[t]) == static_cast<T>(j);
    return is_possible ? emissions[std::size_t{t} * tags + j] : -std::numeric_limits<T>::infinity();
  }
  __device__ T transition(unsigned i, unsigned j) const {
    return transitions[std::size_t{j} * tags + i];
  }
  // ln of the sum over tags i of e^(before[i] + transition(i, j)), computed by one lane.
  __device__ T sum_before(const T* before, unsigned j) const {
    return log_sum<T>(tags, [&](unsigned i) { return before[i] + transition(i, j); });
  }
  // The same for the end of a sequence, computed by the warp.
  __device__ T sum_at_end(const T* logs) const {
    T top = -std::numeric_limits<T>::infinity(), sum = 0;
    for_lane(tags, [&](unsigned j) { top = Larger()(top, logs[j] + end[j]); });
    top = reduce_warp(top, Larger());
    if (std::isinf(top)) return top;
    for_lane(tags, [&](unsigned j) { sum = sum + std::exp(logs[j] + end[j] - top); });
    return top + std::log(sum_of_warp(sum));
  }
};

// For every column the kernel keeps the logarithms, and the sums over its tags for the next column.
template <class T>
__global__ void add_up(std::size_t items, unsigned tags, const Operand* in,
                       const std::uint32_t* integers, T* kept, std::size_t kept_size,
                       bool keeps_all, Output out) {
  const std::size_t item = item_of_warp();
  if (item >= items) return;
  T* const y = output_at<T>(out, item);
  const Chain<T> chain(item, tags, in, integers);
  T* const all = kept + item * kept_size;
  // If not all columns are kept, two buffers alternate.
  const auto column = [&](unsigned t) {
    return all + std::size_t{keeps_all ? t : t % 2} * 2 * tags;
  };
  each_of(tags, [&](unsigned j) { column(0)[j] = chain.emission(0, j) + chain.start[j]; });
  double base = static_cast<double>(take_largest(tags, column(0)));
  for (unsigned t = 1; t < chain.length; ++t) {
    T *const before = column(t - 1), *const sums = before + tags, *const logs = column(t);
    each_of(tags, [&](unsigned j) {
      sums[j] = chain.sum_before(before, j);
      logs[j] = chain.emission(t, j) + sums[j];
    });
    base += static_cast<double>(take_largest(tags, logs));
  }
  base += static_cast<double>(chain.sum_at_end(column(chain.length - 1)));
  if (lane_of_warp() == 0) *y = static_cast<T>(base);
}

template <class T>
struct ChainBackward {
  unsigned tags;
  const Operand* in;
  Operand saved, dy;
  const std::uint32_t* integers;
  T* slopes;    ///< for every item: slopes of a column and of the column before
  T* products;  ///< for every item: the contributions to transitions
};

// The slope of a previous tag is the sum over tags j of the slope of j times the previous tag's
// share in j's sum. The first of the items that share the gradient of emissions adds up the
// contributions of all, one after the other.
template <class T>
__global__ void go_back(std::size_t items, ChainBackward<T> given, const Destination* dx) {
  const std::size_t first = item_of_warp();
  const Destination& emissions = dx[0];
  const auto shares = [&](std::size_t i) {
    return emissions.wanted() && emissions.items[i] == emissions.items[i - 1];
  };
  if (first >= items || (first > 0 && shares(first))) return;
  const unsigned tags = given.tags;
  for (std::size_t item = first; item < items && (item == first || shares(item)); ++item) {
    const Chain<T> chain(item, tags, given.in, given.integers);
    const T* const saved = given.saved.template at<T>(item);
    const T dy = *given.dy.template at<T>(item);
    T* slopes = given.slopes + item * 2 * tags;
    T* others = slopes + tags;
    T* const products = given.products + item * tags * tags;
    const Target<T> to_start(dx[2], item), to_end(dx[3], item), to_transitions(dx[1], item);
    Target<T> to_emissions(dx[0], item);
    to_emissions.add |= item != first;
    const T* column = saved + std::size_t{chain.length - 1} * 2 * tags;
    const T end = chain.sum_at_end(column);
    each_of(tags, [&](unsigned j) {
      slopes[j] = std::isinf(end) ? T(0) : dy * std::exp(column[j] + chain.end[j] - end);
      if (to_end.to != nullptr) to_end.put(slopes[j], j);
    });
    if (to_transitions.to != nullptr) {
      each_of(tags * tags, [&](unsigned e) { products[e] = 0; });
    }
    for (unsigned t = chain.length; t-- > 0;) {
      if (to_emissions.to != nullptr) {
        each_of(tags, [&](unsigned j) { to_emissions.put(slopes[j], std::size_t{t} * tags + j); });
      }
      if (t == 0) break;
      const T *const before = saved + std::size_t{t - 1} * 2 * tags, *const sums = before + tags;
      const auto share = [&](unsigned i, unsigned j) {
        return std::isinf(sums[j])
                   ? T(0)
                   : slopes[j] * std::exp(before[i] + chain.transition(i, j) - sums[j]);
      };
      each_of(tags, [&](unsigned i) {
        T sum = 0;
        for (unsigned j = 0; j < tags; ++j) sum = sum + share(i, j);
        others[i] = sum;
      });
      if (to_transitions.to != nullptr) {
        each_of(tags * tags, [&](unsigned e) { products[e] += share(e % tags, e / tags); });
      }
      T* const last = slopes;
      slopes = others;
      others = last;
    }
    each_of(tags, [&](unsigned j) {
      if (to_start.to != nullptr) to_start.put(slopes[j], j);
    });
    if (to_transitions.to != nullptr) {
      each_of(tags * tags, [&](unsigned e) { to_transitions.put(products[e], e); });
    }
  }
}

// Tags and labels have slope 0.
template <class T>
__global__ void clear_tags(std::size_t items, const std::uint32_t* integers, Destination dx) {
  const std::size_t item = item_of_warp();
  if (item >= items || (item > 0 && dx.items[item - 1] == dx.items[item])) return;
  const Target<T> target(dx, item);
  if (target.to == nullptr || target.add) return;
  for_lane(integers[item], [&](unsigned t) { target.to[t] = 0; });
}

template <class T>
void launch_chains(const ForwardCall& call) {
  Commands& commands = commands_of(call);
  const unsigned tags = call.type->inputs[0].rows();
  const bool keeps_all = call.saved != nullptr;
  const std::size_t kept = keeps_all ? call.type->saved_size : 4 * std::size_t{tags};
  T* const to = keeps_all ? static_cast<T*>(call.saved) : commands.elements<T>(call.n * kept);
  launch_warps(commands, call.n, add_up<T>, tags, commands.stage(call.in, 5), call.integers, to,
               kept, keeps_all, call.out);
}
template <class T>
void launch_chains(const BackwardCall& call) {
  Commands& commands = commands_of(call);
  const unsigned tags = call.type->inputs[0].rows();
  const ChainBackward<T> given{
      tags,
      commands.stage(call.in, 5),
      call.saved,
      call.dy,
      call.integers,
      commands.elements<T>(call.n * 2 * tags),
      commands.elements<T>(call.dx[1].wanted() ? call.n * tags * tags : 0)};
  launch_warps(commands, call.n, go_back<T>, given, commands.stage(call.dx, 5));
  if (call.dx[4].wanted()) {
    launch_warps(commands, call.n, clear_tags<T>, call.integers, call.dx[4]);
  }
}

// ------------------------------------------------------------------------- ctc_log_probability

// The states of a path: the blank before the first label, that label, the blank behind it, ...
template <class T>
struct States {
  unsigned classes, steps, labels = 0, count;
  const T *x, *label;

  __device__ States(std::size_t i, unsigned n, const Operand& in_x, const Operand& in_labels,
                    const std::uint32_t* integers)
      : classes(n), steps(integers[i]), x(in_x.at<T>(i)), label(in_labels.at<T>(i)) {
    while (labels < steps && label[labels] >= 0 && label[labels] < static_cast<T>(n - 1)) ++labels;
    count = 2 * labels + 1;
  }
  __device__ unsigned class_of(unsigned state) const {
    return state % 2 == 1 ? static_cast<unsigned>(label[state / 2]) : classes - 1;
  }
  __device__ T emitted(unsigned t, unsigned state) const {
    return x[std::size_t{t} * classes + class_of(state)];
  }
  __device__ bool skips_blank(unsigned state) const {
    return state % 2 == 1 && state > 1 && class_of(state) != class_of(state - 2);
  }
  // From how many states a path may come: this one, the one before, and perhaps one before that.
  __device__ unsigned ways_into(unsigned state) const {
    return skips_blank(state) ? 3 : state > 0 ? 2 : 1;
  }
  __device__ T sum_into(const T* logs, unsigned state) const {
    return log_sum<T>(ways_into(state), [&](unsigned k) { return logs[state - k]; });
  }
  // A path ends in the last blank or in the last label.
  __device__ T sum_at_end(const T* logs) const {
    return log_sum<T>(labels > 0 ? 2 : 1, [&](unsigned k) { return logs[count - 1 - k]; });
  }
};

template <class T>
__global__ void follow_paths(std::size_t items, unsigned classes, Operand in_x, Operand in_labels,
                             const std::uint32_t* integers, T* kept, std::size_t kept_size,
                             Output out) {
  const std::size_t item = item_of_warp();
  if (item >= items) return;
  T* const y = output_at<T>(out, item);
  const States<T> states(item, classes, in_x, in_labels, integers);
  T* const all = kept + item * kept_size;
  each_of(states.count, [&](unsigned s) {
    all[s] = s < 2 ? states.emitted(0, s) : -std::numeric_limits<T>::infinity();
  });
  double base = static_cast<double>(take_largest(states.count, all));
  T* logs = all;
  for (unsigned t = 1; t < states.steps; ++t) {
    const T* const before = logs;
    logs += states.count;
    each_of(states.count,
            [&](unsigned s) { logs[s] = states.sum_into(before, s) + states.emitted(t, s); });
    base += static_cast<double>(take_largest(states.count, logs));
  }
  base += static_cast<double>(states.sum_at_end(logs));
  if (lane_of_warp() == 0) *y = static_cast<T>(base);
}

template <class T>
struct PathsBackward {
  unsigned classes;
  Operand in_x, in_labels, saved, dy;
  const std::uint32_t* integers;
  T* slopes;               ///< for every item: slopes of a step and of the step before
  std::size_t slope_size;  ///< of one step
};

// The first of the items that share a gradient adds up the contributions of all, in order.
template <class T>
__global__ void follow_back(std::size_t items, PathsBackward<T> given, Destination dx) {
  const std::size_t first = item_of_warp();
  if (first >= items || (first > 0 && dx.items[first] == dx.items[first - 1])) return;
  const unsigned classes = given.classes;
  for (std::size_t item = first; item < items && dx.items[item] == dx.items[first]; ++item) {
    Target<T> target(dx, item);
    if (target.to == nullptr) return;
    target.add |= item != first;
    const States<T> states(item, classes, given.in_x, given.in_labels, given.integers);
    T* slopes = given.slopes + item * 2 * given.slope_size;
    T* others = slopes + given.slope_size;
    const T* logs = given.saved.template at<T>(item) + std::size_t{states.steps - 1} * states.count;
    const T dy = *given.dy.template at<T>(item), end = states.sum_at_end(logs);
    each_of(states.count, [&](unsigned s) {
      const bool ends = s + 2 >= states.count && !std::isinf(end);
      slopes[s] = ends ? dy * std::exp(logs[s] - end) : T(0);
    });
    for (unsigned t = states.steps; t-- > 0;) {
      each_of(classes, [&](unsigned c) {
        T sum = 0;
        for (unsigned s = c + 1 == classes ? 0 : 1; s < states.count; s += 2) {
          if (states.class_of(s) == c) sum = sum + slopes[s];
        }
        target.put(sum, std::size_t{t} * classes + c);
      });
      if (t == 0) break;
      logs -= states.count;
      // Each state gets slopes from the states that its paths move to.
      each_of(states.count, [&](unsigned s) {
        T sum = 0;
        for (unsigned k = 0; k < 3 && s + k < states.count; ++k) {
          if (k >= states.ways_into(s + k)) continue;
          const T all = states.sum_into(logs, s + k);
          if (!std::isinf(all)) sum = sum + slopes[s + k] * std::exp(logs[s] - all);
        }
        others[s] = sum;
      });
      T* const last = slopes;
      slopes = others;
      others = last;
    }
  }
}

template <class T>
void launch_paths(const ForwardCall& call) {
  Commands& commands = commands_of(call);
  const std::size_t kept = call.type->attributes[0];
  T* const to =
      call.saved != nullptr ? static_cast<T*>(call.saved) : commands.elements<T>(call.n * kept);
  launch_warps(commands, call.n, follow_paths<T>, call.type->inputs[0].rows(), call.in[0],
               call.in[1], call.integers, to, kept, call.out);
}
template <class T>
void launch_paths(const BackwardCall& call) {
  Commands& commands = commands_of(call);
  const std::size_t size = call.type->attributes[0];  // there are never more states
  if (call.dx[0].wanted()) {
    const PathsBackward<T> given{call.type->inputs[0].rows(),
                                 call.in[0],
                                 call.in[1],
                                 call.saved,
                                 call.dy,
                                 call.integers,
                                 commands.elements<T>(call.n * 2 * size),
                                 size};
    launch_warps(commands, call.n, follow_back<T>, given, call.dx[0]);
  }
  if (call.dx[1].wanted()) {
    launch_warps(commands, call.n, clear_tags<T>, call.integers, call.dx[1]);
  }
}

}  // namespace

std::vector<KernelEntry> chain_kernels() {
  return {{"chain_log_partition", DYNET_LIKE_KERNELS(launch_chains, launch_chains)},
          {"ctc_log_probability", DYNET_LIKE_KERNELS(launch_paths, launch_paths)}};
}

}  // namespace dynet_like::detail::cuda
