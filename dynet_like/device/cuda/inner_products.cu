// Kernels of ops: inner products and squared distances, one warp per item.
#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/warps.h"

namespace dynet_like::detail::cuda {

namespace {

struct DotProduct {
  template <class T>
  __device__ static T add(T a, T b, T sum) {
    return std::fma(a, b, sum);
  }
  // The derivative with respect to a.
  template <class T>
  __device__ static T gradient(T, T b, T dy) {
    return b * dy;
  }
};
struct SquaredDistance {
  template <class T>
  __device__ static T add(T a, T b, T sum) {
    return std::fma(a - b, a - b, sum);
  }
  template <class T>
  __device__ static T gradient(T a, T b, T dy) {
    return (a - b) * (T(2) * dy);
  }
};

template <class Kind, class T>
__global__ void add_up(std::size_t n, unsigned size, Operand left, Operand right, Output out) {
  const std::size_t item = item_of_warp();
  if (item >= n) return;
  const T *const a = left.at<T>(item), *const b = right.at<T>(item);
  T sum = 0;
  for (unsigned e = lane_of_warp(); e < size; e += kWarp) sum = Kind::add(a[e], b[e], sum);
  sum = sum_of_warp(sum);
  if (lane_of_warp() == 0) *output_at<T>(out, item) = sum;
}
template <class Kind, class T>
void forward(const ForwardCall& call) {
  launch_warps(commands_of(call), call.n, add_up<Kind, T>, call.n, call.type->inputs[0].size(),
               call.in[0], call.in[1], call.out);
}

// The gradients of both inputs in one launch: each thread computes one element of both.
template <class Kind, class T>
__global__ void gradients(std::size_t count, unsigned size, Operand left, Operand right, Operand dy,
                          Destination dleft, Destination dright) {
  const std::size_t at = thread_index();
  if (at >= count) return;
  const std::size_t item = at / size, e = at % size;
  const T a = left.at<T>(item)[e], b = right.at<T>(item)[e], g = *dy.at<T>(item);
  if (dleft.wanted() && dleft.items[item] != nullptr) {
    put(Kind::gradient(a, b, g), dleft.at<T>(item) + e, dleft.add[item] != 0);
  }
  if (dright.wanted() && dright.items[item] != nullptr) {
    put(Kind::gradient(b, a, g), dright.at<T>(item) + e, dright.add[item] != 0);
  }
}
template <class Kind, class T>
void backward(const BackwardCall& call) {
  const unsigned size = call.type->inputs[0].size();
  launch_each(commands_of(call), call.n * size, gradients<Kind, T>, call.n * size, size, call.in[0],
              call.in[1], call.dy, call.dx[0], call.dx[1]);
}

template <class Kind>
constexpr Kernels kKernels = {{forward<Kind, float>, forward<Kind, double>},
                              {backward<Kind, float>, backward<Kind, double>}};

}  // namespace

std::span<const KernelEntry> inner_product_kernels() {
  static const KernelEntry table[] = {{"dot_product", kKernels<DotProduct>},
                                      {"squared_distance", kKernels<SquaredDistance>}};
  return table;
}

}  // namespace dynet_like::detail::cuda
