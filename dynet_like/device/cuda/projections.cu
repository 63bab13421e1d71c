// Kernels of projections onto the simplex: one warp per item.
#include <limits>

#include "dynet_like/device/cuda/elements.h"
#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/warps.h"

namespace dynet_like::detail::cuda {

namespace {

// The smallest power of two that is at least n.
unsigned power_of_two(std::size_t n) {
  unsigned power = 1;
  while (power < n) power *= 2;
  return power;
}

// Sorts in descending order; `count` is a power of two (Batcher 1968, the bitonic network).
template <class T>
__device__ void sort_descending(T* x, unsigned count) {
  for (unsigned size = 2; size <= count; size *= 2) {
    for (unsigned distance = size / 2; distance > 0; distance /= 2) {
      __syncwarp(kWholeWarp);
      for_lane(count / 2, [&](unsigned pair) {
        const unsigned low = pair / distance * 2 * distance + pair % distance;
        const unsigned high = low + distance;
        const T a = x[low], b = x[high];
        const bool descends = (low & size) == 0;
        if (descends ? a < b : b < a) {
          x[low] = b;
          x[high] = a;
        }
      });
    }
  }
  __syncwarp(kWholeWarp);
}

// sparsemax(x) = max(0, x - top - t), where top is the largest element and t, in [-1, 0], makes the
// sum 1. Subtracting the largest keeps the digits of elements of any size. If x contains NaN or
// +infinity, t is NaN.
template <class T>
struct Support {
  T top, threshold;

  /// `sorted` has room for `padded` numbers, a power of two.
  __device__ Support(const T* x, unsigned n, T* sorted, unsigned padded)
      : top(x[0]), threshold(std::numeric_limits<T>::quiet_NaN()) {
    const auto larger = [](T a, T b) { return std::isnan(a) || b <= a ? a : b; };
    for_lane(n, [&](unsigned e) { top = larger(top, x[e]); });
    top = reduce_warp(top, larger);
    if (!std::isfinite(top)) return;
    for_lane(padded, [&](unsigned e) {
      sorted[e] = e < n ? x[e] - top : -std::numeric_limits<T>::infinity();
    });
    sort_descending(sorted, padded);
    double sum = 0;
    for (unsigned k = 0; k < n; ++k) {  // the same in every lane
      const double element = static_cast<double>(sorted[k]), count = k + 1.0;
      if (1 + count * element <= sum + element) break;  // the largest elements are the support
      sum += element;
      threshold = static_cast<T>((sum - 1) / count);
    }
  }
  /// Restores what loss_forward saved.
  __device__ explicit Support(const T* saved) : top(saved[0]), threshold(saved[1]) {}

  __device__ T part(T x) const {
    const T above = (x - top) - threshold;
    return above < 0 ? T(0) : above;
  }
};

// ----------------------------------------------------------------------------------- sparsemax

template <class T>
__global__ void project(std::size_t n, unsigned size, Operand in, T* scratch, unsigned padded,
                        Output out) {
  const std::size_t item = item_of_warp();
  if (item >= n) return;
  const T* const x = in.at<T>(item);
  const Support<T> support(x, size, scratch + item * padded, padded);
  T* const y = output_at<T>(out, item);
  for_lane(size, [&](unsigned e) { y[e] = support.part(x[e]); });
}
template <class T>
void sparsemax_forward(const ForwardCall& call) {
  Commands& commands = commands_of(call);
  const unsigned padded = power_of_two(call.type->output_size);
  launch_warps(commands, call.n, project<T>, call.type->output_size, call.in[0],
               commands.elements<T>(call.n * padded), padded, call.out);
}

// Inside the support, dx is dy minus the mean of dy over the support. Elements that are NaN are not
// 0, so they get a NaN.
template <class T>
__global__ void project_gradients(std::size_t n, unsigned size, Operand ys, Operand dys,
                                  Destination dx) {
  const std::size_t item = item_of_warp();
  if (item >= n) return;
  T* const to = dx.at<T>(item);
  if (to == nullptr) return;
  const T *const y = ys.at<T>(item), *const dy = dys.at<T>(item);
  T sum = 0, count = 0;
  for_lane(size, [&](unsigned e) {
    if (y[e] == 0) return;
    sum += dy[e];
    count += 1;
  });
  const T mean = sum_of_warp(sum) / sum_of_warp(count);
  for_lane(size, [&](unsigned e) {
    const T gradient = std::isnan(y[e]) ? y[e] : dy[e] - mean;
    put(y[e] == 0 ? T(0) : gradient, to + e, dx.add[item] != 0);
  });
}
template <class T>
void sparsemax_backward(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  launch_warps(commands_of(call), call.n, project_gradients<T>, call.type->output_size, call.out,
               call.dy, call.dx[0]);
}

// ------------------------------------------------------------------------------ sparsemax_loss

// Adding one number to all elements does not change the loss, so the largest is subtracted.
template <class T>
__global__ void losses(std::size_t n, unsigned size, Operand in, const std::uint32_t* integers,
                       unsigned targets, T* scratch, unsigned padded, Output out, T* saved) {
  const std::size_t item = item_of_warp();
  if (item >= n) return;
  const T* const x = in.at<T>(item);
  const Support<T> support(x, size, scratch + item * padded, padded);
  const T q = 1 / static_cast<T>(targets);
  T sum = 0;
  for_lane(size, [&](unsigned e) {
    const T part = support.part(x[e]);
    if (part != 0) sum += part * (part + 2 * support.threshold) / 2;
  });
  for_lane(targets,
           [&](unsigned k) { sum -= q * (x[integers[item * targets + k]] - support.top); });
  sum = sum_of_warp(sum);
  if (lane_of_warp() > 0) return;
  *output_at<T>(out, item) = q / 2 + sum;  // q'q is 1 / targets
  if (saved == nullptr) return;
  saved[2 * item] = support.top;
  saved[2 * item + 1] = support.threshold;
}
template <class T>
void loss_forward(const ForwardCall& call) {
  Commands& commands = commands_of(call);
  const unsigned size = call.type->inputs[0].size(), padded = power_of_two(size);
  launch_warps(commands, call.n, losses<T>, size, call.in[0], call.integers, call.type->integers,
               commands.elements<T>(call.n * padded), padded, call.out,
               static_cast<T*>(call.saved));
}

// sparsemax(x) - q
struct LossGradients {
  template <class T>
  __device__ static T gradient(Place here, Operand in, Operand saved, Operand dy,
                               const std::uint32_t* integers, unsigned targets) {
    const Support<T> support(saved.at<T>(here.item));
    unsigned hits = 0;
    for (unsigned k = 0; k < targets; ++k) hits += integers[here.item * targets + k] == here.at;
    const T wanted = 1 / static_cast<T>(targets) * static_cast<T>(hits);
    return *dy.at<T>(here.item) * (support.part(in.at<T>(here.item)[here.at]) - wanted);
  }
};
template <class T>
void loss_backward(const BackwardCall& call) {
  launch_gradients<LossGradients, T>(call, 0, call.in[0], call.saved, call.dy, call.integers,
                                     call.type->integers);
}

// ------------------------------------------------------------------------- constrained_softmax

// Elements that reach their bound stay there. The others share the rest by a softmax, with their
// own largest subtracted, until none exceeds its bound. A NaN makes all free elements NaN.
template <class T>
__global__ void bounded_softmax(std::size_t n, unsigned size, Operand in, Operand bounds,
                                std::uint8_t* scratch, Output out) {
  const std::size_t item = item_of_warp();
  if (item >= n) return;
  const T *const x = in.at<T>(item), *const bound = bounds.at<T>(item);
  std::uint8_t* const bounded = scratch + item * size;
  T* const y = output_at<T>(out, item);
  for_lane(size, [&](unsigned e) { bounded[e] = 0; });
  for (unsigned changed = 1; changed != 0;) {
    const auto larger = [](T a, T b) { return a < b ? b : a; };
    T taken = 0, top = -std::numeric_limits<T>::infinity(), sum = 0;
    for_lane(size, [&](unsigned e) {
      if (bounded[e] != 0) taken += bound[e];
      if (bounded[e] == 0) top = larger(top, x[e]);
    });
    const T left = 1 - sum_of_warp(taken);
    top = reduce_warp(top, larger);
    for_lane(size, [&](unsigned e) {
      y[e] = bounded[e] != 0 ? bound[e] : x[e] == top ? T(1) : std::exp(x[e] - top);
      if (bounded[e] == 0) sum += y[e];
    });
    const T share = (left < 0 ? T(0) : left) / sum_of_warp(sum);
    changed = 0;
    for_lane(size, [&](unsigned e) {
      if (bounded[e] != 0) return;
      y[e] *= share;
      bounded[e] = y[e] > bound[e] || std::isnan(bound[e]);
      changed |= bounded[e];
    });
    changed = reduce_warp(changed, [](unsigned a, unsigned b) { return a | b; });
  }
}
template <class T>
void bounded_forward(const ForwardCall& call) {
  Commands& commands = commands_of(call);
  const std::size_t size = call.type->output_size;
  launch_warps(commands, call.n, bounded_softmax<T>, size, call.in[0], call.in[1],
               commands.elements<std::uint8_t>(call.n * size), call.out);
}

// Let s be the share of the free elements and m = (sum of y dy over them) / s. Free elements have
// dx = y (dy - m); bounded elements have dbound = dy - m. A NaN counts as free.
template <class T>
__global__ void bounded_gradients(std::size_t n, unsigned size, Operand bounds, Operand ys,
                                  Operand dys, Destination dx, Destination dbound) {
  const std::size_t item = item_of_warp();
  if (item >= n) return;
  const T *const bound = bounds.at<T>(item), *const y = ys.at<T>(item);
  const T* const dy = dys.at<T>(item);
  const auto is_free = [&](unsigned e) { return y[e] < bound[e] || std::isnan(y[e]); };
  T share = 0, mean = 0;
  for_lane(size, [&](unsigned e) {
    if (!is_free(e)) return;
    share += y[e];
    mean += y[e] * dy[e];
  });
  share = sum_of_warp(share);
  mean = sum_of_warp(mean);
  mean = share == 0 ? T(0) : mean / share;
  T* const to_x = dx.wanted() ? dx.at<T>(item) : nullptr;
  T* const to_bound = dbound.wanted() ? dbound.at<T>(item) : nullptr;
  for_lane(size, [&](unsigned e) {
    const T rest = dy[e] - mean;
    const bool free = is_free(e);
    if (to_x != nullptr) put(free ? y[e] * rest : T(0), to_x + e, dx.add[item] != 0);
    if (to_bound != nullptr) put(free ? T(0) : rest, to_bound + e, dbound.add[item] != 0);
  });
}
template <class T>
void bounded_backward(const BackwardCall& call) {
  launch_warps(commands_of(call), call.n, bounded_gradients<T>, call.type->output_size, call.in[1],
               call.out, call.dy, call.dx[0], call.dx[1]);
}

}  // namespace

std::vector<KernelEntry> projection_kernels() {
  return {{"sparsemax", DYNET_LIKE_KERNELS(sparsemax_forward, sparsemax_backward)},
          {"sparsemax_loss", DYNET_LIKE_KERNELS(loss_forward, loss_backward)},
          {"constrained_softmax", DYNET_LIKE_KERNELS(bounded_forward, bounded_backward)}};
}

}  // namespace dynet_like::detail::cuda
