// Kernels along one dimension: extremes, running sums, logarithms of sums.
#include "dynet_like/device/cuda/extremes.h"
#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/launchers.h"

namespace dynet_like::detail::cuda {

namespace {

template <unsigned size, class T>
__global__ void max_forward(Part part, Lines lines, Operand in, Output out) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const T* const x = in.at<T>(place.item);
  const Team<size> team;
  const auto best =
      find_largest<T>(team, lines.n, [&](std::uint32_t k) { return x[lines.at(place.at, k)]; });
  if (team.rank == 0) output_at<T>(out, place.item)[place.at] = best.value;
}

template <unsigned size, class T>
__global__ void max_backward(Part part, Lines lines, Operand in, Operand dy, Destination dx) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  const T* const x = in.at<T>(place.item);
  const T dy_here = dy.at<T>(place.item)[place.at];
  const Team<size> team;
  const auto best =
      find_largest<T>(team, lines.n, [&](std::uint32_t k) { return x[lines.at(place.at, k)]; });
  team.each(lines.n, [&](std::uint32_t k) {
    target.put(k == best.place ? dy_here : T(0), lines.at(place.at, k));
  });
}

template <unsigned size, class T>
__global__ void argmax_forward(Part part, Lines lines, Operand in, Output out) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const T* const x = in.at<T>(place.item);
  const Team<size> team;
  const auto best =
      find_largest<T>(team, lines.n, [&](std::uint32_t k) { return x[lines.at(place.at, k)]; });
  T* const y = output_at<T>(out, place.item);
  team.each(lines.n,
            [&](std::uint32_t k) { y[lines.at(place.at, k)] = k == best.place ? T(1) : T(0); });
}
template <class T>
__global__ void pass_on(Part part, Operand dy, Destination dx) {
  Place place;
  if (!find_element(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to != nullptr) target.put(dy.at<T>(place.item)[place.at], place.at);
}

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

// If the largest element is infinite it is the result, since its difference to itself would be NaN.
template <unsigned size, class T>
__global__ void logsumexp_forward(Part part, Lines lines, Operand in, Output out) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const T* const x = in.at<T>(place.item);
  const Team<size> team;
  const auto element = [&](std::uint32_t k) { return x[lines.at(place.at, k)]; };
  const T top = find_largest<T>(team, lines.n, element).value;
  T result = top;
  if (std::isfinite(top)) {
    const T sum =
        team.template sum<T>(lines.n, [&](std::uint32_t k) { return std::exp(element(k) - top); });
    result = top + std::log(sum);
  }
  if (team.rank == 0) output_at<T>(out, place.item)[place.at] = result;
}
// The gradient is softmax(x) dy, not computed from the result, because a large maximum leaves that
// few digits. Elements of +infinity share the gradient. If all are -infinity, all gradients are 0.
template <unsigned size, class T>
__global__ void logsumexp_backward(Part part, Lines lines, Operand in, Operand dy, Destination dx) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  const T* const x = in.at<T>(place.item);
  const Team<size> team;
  const auto element = [&](std::uint32_t k) { return x[lines.at(place.at, k)]; };
  const T top = find_largest<T>(team, lines.n, element).value;
  const auto share = [&](std::uint32_t k) {
    if (std::isinf(top)) return element(k) == top && top > 0 ? T(1) : T(0);
    return std::exp(element(k) - top);
  };
  const T sum = team.template sum<T>(lines.n, share);
  const T factor = sum == 0 ? T(0) : dy.at<T>(place.item)[place.at] / sum;
  team.each(lines.n,
            [&](std::uint32_t k) { target.put(factor * share(k), lines.at(place.at, k)); });
}

struct Max {
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_lines(
        commands_of(call), call.n, lines_of(*call.type),
        [](auto size) { return max_forward<size(), T>; }, call.in[0], call.out);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_lines(
        commands_of(call), call.n, lines_of(*call.type),
        [](auto size) { return max_backward<size(), T>; }, call.in[0], call.dy, call.dx[0]);
  }
};

struct Argmax {
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_lines(
        commands_of(call), call.n, lines_of(*call.type),
        [](auto size) { return argmax_forward<size(), T>; }, call.in[0], call.out);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_elements(commands_of(call), call.n, call.type->output_size, pass_on<T>, call.dy,
                    call.dx[0]);
  }
};

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
    const Lines lines = lines_of(*call.type);
    launch_teams(
        commands_of(call), call.n, lines.count, at_most_warp(team_for(lines)),
        [](auto size) { return cumsum_backward<at_most_warp(size()), T>; }, lines, call.dy,
        call.dx[0]);
  }
};

struct LogSumExp {
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_lines(
        commands_of(call), call.n, lines_of(*call.type),
        [](auto size) { return logsumexp_forward<size(), T>; }, call.in[0], call.out);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_lines(
        commands_of(call), call.n, lines_of(*call.type),
        [](auto size) { return logsumexp_backward<size(), T>; }, call.in[0], call.dy, call.dx[0]);
  }
};

}  // namespace

std::span<const KernelEntry> dimension_kernels() {
  static const KernelEntry table[] = {{"max_dim", kernels<Max>()},
                                      {"argmax", kernels<Argmax>()},
                                      {"cumsum", kernels<Cumsum>()},
                                      {"logsumexp_dim", kernels<LogSumExp>()}};
  return table;
}

}  // namespace dynet_like::detail::cuda
