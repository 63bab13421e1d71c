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
  for_lane(size, [&](unsigned e) { sum = Kind::add(a[e], b[e], sum); });
  sum = sum_of_warp(sum);
  if (lane_of_warp() == 0) *output_at<T>(out, item) = sum;
}
// The gradients of both inputs in one launch: each thread computes one element of both.
template <class Kind, class T>
__global__ void gradients(Part part, Operand left, Operand right, Operand dy, Destination dleft,
                          Destination dright) {
  Place place;
  if (!find_element(part, place)) return;
  const T a = left.at<T>(place.item)[place.at], b = right.at<T>(place.item)[place.at];
  const T g = *dy.at<T>(place.item);
  const Target<T> to_left(dleft, place.item), to_right(dright, place.item);
  if (to_left.to != nullptr) to_left.put(Kind::gradient(a, b, g), place.at);
  if (to_right.to != nullptr) to_right.put(Kind::gradient(b, a, g), place.at);
}

template <class Kind>
struct OfPairs {
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_warps(commands_of(call), call.n, add_up<Kind, T>, call.type->inputs[0].size(),
                 call.in[0], call.in[1], call.out);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_elements(commands_of(call), call.n, call.type->inputs[0].size(), gradients<Kind, T>,
                    call.in[0], call.in[1], call.dy, call.dx[0], call.dx[1]);
  }
};

}  // namespace

std::vector<KernelEntry> inner_product_kernels() {
  return {{"dot_product", kernels<OfPairs<DotProduct>>()},
          {"squared_distance", kernels<OfPairs<SquaredDistance>>()}};
}

}  // namespace dynet_like::detail::cuda
