// Kernels along one dimension: extremes, running sums, logarithms of sums.
#include "dynet_like/device/cuda/elements.h"
#include "dynet_like/device/cuda/extremes.h"
#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/lines.h"

namespace dynet_like::detail::cuda {

namespace {

template <class T, unsigned size>
__device__ Element<T> largest_of(const Team<size>& team, std::uint32_t n, Line<const T> x) {
  return find_largest<T>(team, n, [&](std::uint32_t k) { return x[k]; });
}

struct Max {
  static constexpr bool is_reduction = true;

  template <class T, unsigned size>
  __device__ static T reduce(const Team<size>& team, std::uint32_t n, Line<const T> x) {
    return largest_of(team, n, x).value;
  }
  template <class T, unsigned size, class Put>
  __device__ static void gradient(const Team<size>& team, std::uint32_t n, Line<const T> x, T dy,
                                  const Put& put) {
    const std::uint32_t best = largest_of(team, n, x).place;
    team.each(n, [&](std::uint32_t k) { put(k == best ? dy : T(0), k); });
  }
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_reductions<Max, T>(call);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_line_gradients<Max, T>(call, call.in[0]);
  }
};

struct Argmax {
  template <class T, unsigned size>
  __device__ static void map(const Team<size>& team, std::uint32_t n, Line<const T> x, Line<T> y) {
    const std::uint32_t best = largest_of(team, n, x).place;
    team.each(n, [&](std::uint32_t k) { y[k] = k == best ? T(1) : T(0); });
  }
  template <class T>
  __device__ static T gradient(Place here, Operand dy) {
    return dy.at<T>(here.item)[here.at];
  }
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_maps<Argmax, T>(call);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_gradients<Argmax, T>(call, 0, call.dy);
  }
};

// Calls result(k, x[0] + ... + x[k]) for every element of a line. A warp sums as many elements at a
// time as it has threads, by doubling distances (Hillis and Steele 1986).
template <unsigned size, class T, class Read, class Result>
__device__ void running_sums(const Team<size>& team, std::uint32_t n, const Read& read,
                             const Result& result) {
  T before = 0;
  for (std::uint32_t first = 0; first < n; first += size) {
    const std::uint32_t k = first + team.rank;
    T sum = k < n ? read(k) : T(0);
    if constexpr (size > 1) {
      for (unsigned distance = 1; distance < size; distance *= 2) {
        const T other = __shfl_sync(kWholeWarp, sum, (team.rank - distance) % size);
        if (team.rank >= distance) sum = other + sum;
      }
    }
    sum = before + sum;
    if (k < n) result(k, sum);
    before = sum;
    if constexpr (size > 1) before = __shfl_sync(kWholeWarp, sum, size - 1);
  }
}
template <unsigned size, class T>
__global__ void cumsum_forward(Part part, Lines lines, Operand in, Output out) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const T* const x = in.at<T>(place.item);
  T* const y = output_at<T>(out, place.item);
  running_sums<size, T>(
      Team<size>(), lines.n, [&](std::uint32_t k) { return x[lines.at(place.at, k)]; },
      [&](std::uint32_t k, T sum) { y[lines.at(place.at, k)] = sum; });
}
// Sums from the last element to the first.
template <unsigned size, class T>
__global__ void cumsum_backward(Part part, Lines lines, Operand dy, Destination dx) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  const T* const from = dy.at<T>(place.item);
  const auto at = [&](std::uint32_t k) { return lines.at(place.at, lines.n - 1 - k); };
  running_sums<size, T>(
      Team<size>(), lines.n, [&](std::uint32_t k) { return from[at(k)]; },
      [&](std::uint32_t k, T sum) { target.put(sum, at(k)); });
}

struct Cumsum {
  static constexpr unsigned at_most_warp(unsigned size) { return size > kWarp ? kWarp : size; }

  template <class T>
  static void launch(const ForwardCall& call) {
    const Lines lines = lines_of(*call.type);
    launch_teams(
        commands_of(call), call.n, lines.count, at_most_warp(team_for(lines)),
        [](auto size) { return cumsum_forward<at_most_warp(size()), T>; }, lines, call.in[0],
        call.out);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    if (!call.dx[0].wanted()) return;
    const Lines lines = lines_of(*call.type);
    launch_teams(
        commands_of(call), call.n, lines.count, at_most_warp(team_for(lines)),
        [](auto size) { return cumsum_backward<at_most_warp(size()), T>; }, lines, call.dy,
        call.dx[0]);
  }
};

struct LogSumExp {
  static constexpr bool is_reduction = true;

  // If the largest element is infinite it is the result, since its difference to itself would be
  // NaN.
  template <class T, unsigned size>
  __device__ static T reduce(const Team<size>& team, std::uint32_t n, Line<const T> x) {
    const T top = largest_of(team, n, x).value;
    if (!std::isfinite(top)) return top;
    return top +
           std::log(team.template sum<T>(n, [&](std::uint32_t k) { return std::exp(x[k] - top); }));
  }
  // The gradient is softmax(x) dy, not computed from the result, because a large maximum leaves
  // that few digits. Elements of +infinity share the gradient. If all are -infinity, all gradients
  // are 0.
  template <class T, unsigned size, class Put>
  __device__ static void gradient(const Team<size>& team, std::uint32_t n, Line<const T> x, T dy,
                                  const Put& put) {
    const T top = largest_of(team, n, x).value;
    const auto share = [&](std::uint32_t k) {
      if (std::isinf(top)) return x[k] == top && top > 0 ? T(1) : T(0);
      return std::exp(x[k] - top);
    };
    const T sum = team.template sum<T>(n, share);
    const T factor = sum == 0 ? T(0) : dy / sum;
    team.each(n, [&](std::uint32_t k) { put(factor * share(k), k); });
  }
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_reductions<LogSumExp, T>(call);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_line_gradients<LogSumExp, T>(call, call.in[0]);
  }
};

}  // namespace

std::vector<KernelEntry> dimension_kernels() {
  return {{"max_dim", kernels<Max>()},
          {"argmax", kernels<Argmax>()},
          {"cumsum", kernels<Cumsum>()},
          {"logsumexp_dim", kernels<LogSumExp>()}};
}

}  // namespace dynet_like::detail::cuda
